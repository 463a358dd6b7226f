#!/usr/bin/env python3
"""Predicts measurements that nothing was fitted on, and says how far off each source's rows are.

Every row of data/generalisation/measurements.csv carries the command line that states it, and the prediction that was made of
it before anything was changed for its sake. This script runs the command lines with a program of today, with what the source says
and only a later option could state (the column `added`: options more, or a whole command line where one in its place says what ran), and holds both predictions against the published figures, by source, metric and how fully the source says what was run. A figure that
several rows of one command say is in the file once. A statement that was answered then and is refused today would make its
source look better than it is: such rows are named on standard error, and the exit code is 1.

    bench/accuracy/generalisation.py --program build/bin/plimsoll --output bench/results/generalisation.json
"""
import argparse
import csv
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

KEYS = {"allocated": "peak_allocated_bytes", "reserved": "peak_reserved_bytes", "process": "peak_process_bytes"}


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll", help="the program that predicts")
    parser.add_argument("--rows", default="data/generalisation/measurements.csv", help="measurements and how they are stated")
    parser.add_argument("--source", default="", help="only sources whose name contains this")
    parser.add_argument("--output", help="where statistics and predictions are stored, as JSON")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/validation/blind.md")
    return parser.parse_args()


def answer_of(program, command, answers):
    """What `--json` says, None where the statement is refused; each command line runs once."""
    if command not in answers:
        done = subprocess.run([program, *shlex.split(command)[1:]], capture_output=True, text=True)
        try:
            answers[command] = json.loads(done.stdout)
        except json.JSONDecodeError:
            answers[command] = None
    return answers[command]


def stated_today(row):
    return row["added"] if row["added"].startswith("plimsoll ") else f"{row['command']} {row['added']}"


def predicted(row, answer):
    if not answer or not answer.get("memory"):
        return ""
    if row["metric"] == "fits":
        return "yes" if answer["verdict"] == "fits" else "no"
    value = answer.get("step_seconds") if row["metric"] == "step" else answer["memory"][0].get(KEYS[row["metric"]])
    return "" if value is None else f"{value:.6g}" if row["metric"] == "step" else str(value)


def is_certain(answer):
    """Of "fits": every memory's margin is larger than the guard; of "does not fit": that of one which is too small."""
    spaces = (answer or {}).get("memory") or []
    short = [space for space in spaces if space.get("margin_bytes", 0) < 0]
    return any(space.get("certain", True) for space in short) if short else all(space.get("certain", True) for space in spaces)


def errors_of(rows, column):
    return [float(row[column]) / float(row["value"]) - 1 for row in rows if row[column]]


def rounded(value):
    return round(value, 4)


def statistics_of(rows, column):
    errors = errors_of(rows, column)
    sizes = sorted(map(abs, errors))
    if not sizes:
        return {"rows": len(rows), "predicted": 0}
    return {"rows": len(rows), "predicted": len(sizes), "median": rounded(statistics.median(sizes)),
            "p95": rounded(sizes[min(len(sizes) - 1, int(0.95 * len(sizes)))]), "bias": rounded(statistics.mean(errors)),
            "worst": rounded(sizes[-1])}


def verdicts_of(rows, column):
    """How many runs that failed were told to fit, and the reverse."""
    return {"failed": sum(row["value"] == "no" for row in rows),
            "false_fits": sum(row["value"] == "no" and row[column] == "yes" for row in rows),
            "ran": sum(row["value"] == "yes" for row in rows),
            "false_does_not_fit": sum(row["value"] == "yes" and row[column] == "no" for row in rows)}


def certainty_of(rows):
    """The misses of today by whether the verdict was called certain, and how many are uncertain at all; of rows that say everything, too."""
    def counts(own):
        missed = [row for row in own if row["now"] and row["now"] != row["value"]]
        return {"verdicts": sum(bool(row["now"]) for row in own), "uncertain": sum(bool(row["now"]) and not row["certain"] for row in own),
                "certain_false_fits": sum(row["value"] == "no" and row["certain"] for row in missed),
                "certain_false_does_not_fit": sum(row["value"] == "yes" and row["certain"] for row in missed)}
    return {"all": counts(rows), "full": counts([row for row in rows if row["specified"] == "full"])}


def name_refused(rows):
    """Statements that had an answer; how many of them have none today."""
    refused = [row for row in rows if row["predicted"] and not row["now"]]
    for row in refused:
        print(f"no answer today: {stated_today(row)}", file=sys.stderr)
    return len(refused)


def groups_of(rows):
    """(source, metric, full or partly) in the file's order; then all sources together."""
    groups = {}
    for row in (row for row in rows if row["metric"] != "fits"):
        word = row["specified"].split(":")[0]
        groups.setdefault((row["source"], row["metric"], word), []).append(row)
    for metric in ("allocated", "reserved", "process", "step"):
        for words in ("full", "partly"):
            own = [row for row in rows if row["metric"] == metric and row["specified"].startswith(words)]
            if own:
                groups[("all sources", metric, words)] = own
    return groups


def line_of(key, before, now):
    numbers = " | ".join(f"{100 * side['median']:.1f} | {100 * side['p95']:.1f} | {100 * side['bias']:+.1f}" for side in (before, now))
    return f"| {key[0]} | {key[1]} | {key[2]} | {before['predicted']} | {numbers} |"


def print_tables(result):
    print("| source | metric | specified | figures | median | 95th | bias | median now | 95th now | bias now |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for group in result["groups"]:
        if group["before"]["predicted"] and group["now"]["predicted"]:
            print(line_of((group["source"], group["metric"], group["specified"]), group["before"], group["now"]))
    for when in ("before", "now"):
        print(f"\nverdicts {when}: {result['verdicts'][when]}")
    print(f"\nhow certain: {result['verdicts']['certainty']}")


def main():
    arguments = arguments_of()
    rows = [row for row in csv.DictReader(open(arguments.rows, newline="")) if arguments.source in row["source"]]
    answers = {}
    for row in rows:
        answer = answer_of(arguments.program, stated_today(row), answers)
        row["now"], row["certain"] = predicted(row, answer), is_certain(answer)
    fits = [row for row in rows if row["metric"] == "fits"]
    groups = [{"source": key[0], "metric": key[1], "specified": key[2], "before": statistics_of(own, "predicted"),
               "now": statistics_of(own, "now")} for key, own in groups_of(rows).items()]
    result = {"unit": "error: (predicted - published) / published; of its absolute value but for the bias",
              "groups": groups, "verdicts": {"before": verdicts_of(fits, "predicted"), "now": verdicts_of(fits, "now"),
                                              "certainty": certainty_of(fits)},
              "now": [row["now"] for row in rows]}
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(result, indent=1) + "\n")
    print_tables(result) if arguments.markdown else print(json.dumps(result["verdicts"]))
    return 1 if name_refused(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
