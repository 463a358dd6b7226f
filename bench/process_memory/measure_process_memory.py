#!/usr/bin/env python3
"""Measures the memory of processes that run plans, and fits and checks the constants that predict it.

`measure` runs every case of cases.json with `plimsoll run` and writes a row of what the run's file says: arenas, traced events,
instructions, and the kernel's count of anonymous bytes when the steps had ended. `fit` finds the constants of
data/calibration/process_memory.csv from the rows of cases whose set is "fit" (least squares of the errors relative to the
whole process), and prints the error of every row, those of the cases held out apart.

    bench/process_memory/measure_process_memory.py measure --program build/bin/plimsoll --output data/measured/process-memory.csv
    bench/process_memory/measure_process_memory.py fit data/measured/process-memory.csv
"""
import argparse
import csv
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
PAGE = 4096
COLUMNS = ["set", "model", "options", "strategy", "library", "steps", "arena_bytes", "anonymous_bytes", "events", "instructions"]


def run(arguments, case, library):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        file = str(pathlib.Path(folder) / "run.plimsoll")
        command = [arguments.program, "run", case["model"], "--data", arguments.data, "--matmul", library, "--steps",
                   str(case["steps"]), *case["options"].split(), "--quiet", "--json", "--output", file]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        process = next(space for space in json.loads(done.stdout)["memory"] if space["space"] == "process")
        shown = json.loads(subprocess.run([arguments.program, "show", file, "--json"], capture_output=True, text=True).stdout)
    plan = next(plan for plan in shown["plans"] if plan["name"] == "run")
    trace = next(trace for trace in shown["traces"] if trace["name"] == "run")
    arenas = sum(-(-arena["bytes"] // PAGE) * PAGE for arena in plan["arenas"] if arena["space"] != "ssd")
    return {"set": case["set"], "model": case["model"], "options": case["options"], "strategy": plan["strategy"]["name"],
            "library": library, "steps": case["steps"], "arena_bytes": arenas, "anonymous_bytes": process["measured_bytes"],
            "events": trace["events"], "instructions": sum(body["instructions"] for body in plan["bodies"])}


def measure(arguments):
    cases = json.loads((HERE / "cases.json").read_text())
    with open(arguments.output, "w", newline="") as out:
        out.write("# Memory of processes that ran plans: what data/calibration/process_memory.csv was fitted on (set fit) and held\n"
                  "# against (set held-out). anonymous_bytes: Anonymous of /proc/self/smaps_rollup when the steps had ended.\n"
                  f"# machine: {arguments.machine}\n# date: {datetime.date.today().isoformat()}\n"
                  "# command: bench/process_memory/measure_process_memory.py measure\n")
        table = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        table.writeheader()
        for case in cases:
            for library in case.get("libraries", ["onednn", "openblas"]):
                row = run(arguments, case, library)
                table.writerow(row)
                out.flush()
                print(f"{row['set']:9}{row['strategy']:34}{library:9}{(row['anonymous_bytes'] - row['arena_bytes']) / MIB:8.2f} MiB beside "
                      f"{row['arena_bytes'] / MIB:.1f}", file=sys.stderr)


def terms(row):
    """What each constant is multiplied by."""
    return [row["library"] == "openblas", row["library"] == "onednn", row["instructions"], row["events"]]


def solve(rows):
    """Constants by the normal equations of the errors relative to the whole process."""
    size = len(terms(rows[0]))
    normal = [[0.0] * (size + 1) for _ in range(size)]
    for row in rows:
        scaled = [term / row["anonymous_bytes"] for term in terms(row)]
        right = (row["anonymous_bytes"] - row["arena_bytes"]) / row["anonymous_bytes"]
        for i in range(size):
            for j in range(size):
                normal[i][j] += scaled[i] * scaled[j]
            normal[i][size] += scaled[i] * right
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(normal[i][k]))
        normal[k], normal[pivot] = normal[pivot], normal[k]
        for i in range(size):
            if i != k:
                factor = normal[i][k] / normal[k][k]
                normal[i] = [a - factor * b for a, b in zip(normal[i], normal[k])]
    return [normal[k][size] / normal[k][k] for k in range(size)]


def read(path):
    with open(path) as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    for row in rows:
        for column in ["steps", "arena_bytes", "anonymous_bytes", "events", "instructions"]:
            row[column] = int(row[column])
    return rows


def fit(arguments):
    rows = read(arguments.rows)
    constants = solve([row for row in rows if row["set"] == "fit"])
    print(f"program.openblas {constants[0] / MIB:.2f} MiB, program.onednn {constants[1] / MIB:.2f} MiB, "
          f"instruction {constants[2]:.0f} bytes, event {constants[3]:.0f} bytes")
    for row in sorted(rows, key=lambda row: row["set"]):
        predicted = row["arena_bytes"] + sum(c * t for c, t in zip(constants, terms(row)))
        print(f"{row['set']:9} {predicted / MIB:8.1f} {row['anonymous_bytes'] / MIB:8.1f} MiB {predicted / row['anonymous_bytes'] - 1:+7.1%}"
              f"  {row['strategy']:34}{row['library']:9} {row['model']} {row['options']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("--program", default="build/bin/plimsoll")
    measuring.add_argument("--data", default="data/texts/us-constitution.txt")
    measuring.add_argument("--folder", default=None, help="where run files and SSD data go meanwhile")
    measuring.add_argument("--machine", required=True, help="what the rows say they were measured on")
    measuring.add_argument("--output", required=True)
    measuring.set_defaults(do=measure)
    fitting = commands.add_parser("fit")
    fitting.add_argument("rows")
    fitting.set_defaults(do=fit)
    arguments = parser.parse_args()
    arguments.do(arguments)


main()
