"""Holds `recompute`'s plan for logs of operators against DTR's heuristics and against its own bound, budget by budget.

    python3 bench/planner/operator_logs.py --output bench/results/operator_logs.json

The programs are made up (operator_programs.py); --logs FILE … takes others' logs instead. Budgets are parts of what the program holds
when nothing is computed again. Issue 7 asks: never above the best of DTR's heuristics, and a plan where they find none;
exit code 3 where a plan is above one of them."""
import argparse
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from operator_programs import PROGRAMS

PARTS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]


def asked(program, log, budget):
    start = time.perf_counter()
    done = subprocess.run([program, "recompute", log, "--budget", str(budget), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{log}: {done.stderr}")
    return json.loads(done.stdout), time.perf_counter() - start


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unknown processor"


def row_of(program, log, part, peak):
    answer, seconds = asked(program, log, int(peak * part))
    base = answer["minimum_time"]
    above = lambda value: None if value is None else round(value / base, 4)
    found = [b["time"] for b in answer["baselines"] if b["feasible"]]
    best = min(found, default=None)
    worse = best is not None and (answer["time"] is None or answer["time"] > best)
    row = {"part": part, "plan": above(answer["time"]), "lower_bound": above(answer["lower_bound"]), "seconds": round(seconds, 2)}
    row |= {b["name"]: above(b["time"]) if b["feasible"] else None for b in answer["baselines"]}
    return row | {"best_heuristic": above(best)}, worse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--output")
    parser.add_argument("--logs", nargs="*", default=[], help="logs of others")
    arguments = parser.parse_args()
    cases, above_a_heuristic = [], 0
    with tempfile.TemporaryDirectory() as folder:
        logs = [pathlib.Path(log) for log in arguments.logs]
        for name, make in PROGRAMS.items() if not logs else ():
            logs.append(pathlib.Path(folder) / name)
            logs[-1].write_text(make())
        for log in logs:
            everything, _ = asked(arguments.program, str(log), 1 << 59)
            peak = everything["program_peak_bytes"]
            rows, worse = zip(*(row_of(arguments.program, str(log), part, peak) for part in PARTS))
            above_a_heuristic += sum(worse)
            cases.append({"log": log.name, "operators": everything["operators"], "program_peak_bytes": peak,
                          "least_bytes_part": round(everything["least_bytes"] / peak, 4), "rows": rows})
            for row in rows:
                print(log.name, json.dumps(row), flush=True)
    rows = [row for case in cases for row in case["rows"]]
    both = [row for row in rows if row["best_heuristic"] is not None]
    summary = {"rows": len(rows), "heuristics_find_one": len(both), "plan_found": sum(row["plan"] is not None for row in rows),
               "plan_above_a_heuristic": above_a_heuristic,
               "possible_by_the_bound": sum(row["lower_bound"] is not None for row in rows),
               "slowest_answer_seconds": max(row["seconds"] for row in rows)}
    print(json.dumps(summary))
    if arguments.output:
        head = {"command": "python3 bench/planner/operator_logs.py --output bench/results/operator_logs.json",
                "date": datetime.date.today().isoformat(),
                "note": "times are in times of the program's own; null: no schedule was found (lower_bound: none is "
                        f"possible); seconds are those of {os.cpu_count()} cores of: {processor()}, perhaps with other work beside"}
        pathlib.Path(arguments.output).write_text(json.dumps(head | {"summary": summary, "cases": cases}, indent=1) + "\n")
    sys.exit(3 if summary["plan_above_a_heuristic"] else 0)


if __name__ == "__main__":
    main()
