"""Runs of the program for measurements: what `run --json` answers, what the run file holds, and the machine in words."""
import argparse
import datetime
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile


def parser_of(description, cases):
    """The options that every measurement has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--data", default="data/texts/us-constitution.txt")
    parser.add_argument("--cases", default=cases)
    parser.add_argument("--folder", default=".", help="where run files and SSD data go meanwhile")
    parser.add_argument("--output", required=True)
    return parser


def option(name, value):
    return [f"--{name}", str(value)]


def answer_of(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return json.loads(done.stdout)


def ssd_bytes_of_a_step(run_file):
    """Bytes read and written on the SSD in the run's last step, without what a guard skipped."""
    with sqlite3.connect(run_file) as database:
        rows = database.execute(
            "SELECT instructions.bytes FROM events JOIN traces ON traces.id = events.trace AND traces.name = 'run'"
            " JOIN instructions ON instructions.plan_digest = traces.plan_digest AND instructions.body = traces.body"
            " AND instructions.id = events.instruction JOIN event_status ON event_status.status = events.status"
            " WHERE instructions.kind IN ('read', 'write') AND event_status.name != 'skipped'"
            " AND events.step = (SELECT max(step) FROM events WHERE events.trace = traces.id)")
        return sum(row[0] for row in rows)


def train(program, data, case, flags, strategy, steps, warm_up, folder):
    """One run: `case` has the model and its batch, `flags` are more words of the command, `strategy` a file's content."""
    with tempfile.TemporaryDirectory(dir=folder) as own:
        command = [program, "run", case["model"], *option("data", data), *option("batch", case["batch"]),
                   *option("accumulate", case.get("accumulate", 1)), *option("seq", case["sequence"]),
                   *option("clip", case.get("clip", 1)), *option("matmul", "onednn"), *option("steps", steps + warm_up),
                   *option("warm-up-steps", warm_up), "--quiet", "--json", *flags]
        run_file = pathlib.Path(own) / "run.plimsoll"
        if strategy is not None:
            strategy_file = pathlib.Path(own) / "strategy.json"
            strategy_file.write_text(json.dumps({"format_version": 1, **strategy}) + "\n")
            command += option("strategy", strategy_file)
        answer = answer_of(command + option("output", run_file))
        return {**answer, "ssd_bytes": ssd_bytes_of_a_step(run_file)}


def about(program):
    """Where and with what something was measured."""
    model = next(l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name"))
    cores = sum(l.startswith("processor") for l in open("/proc/cpuinfo"))
    kernel = subprocess.run(["uname", "-r"], capture_output=True, text=True).stdout.strip()
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()
    return {"command": " ".join(sys.argv), "machine": f"{model}, {cores} cores, Linux {kernel}",
            "date": datetime.date.today().isoformat(), "version": version}
