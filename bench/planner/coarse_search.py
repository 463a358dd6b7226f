"""How many layouts a second `sweep` times on one core, and whether any number of processes prints the same.

    python3 bench/planner/coarse_search.py --output bench/results/coarse_search.json

The whole process is timed, its start included, bound to one core; a layout that does not divide is refused and not counted.
Then the same sweep is made by mpirun with 2 and 4 processes, and their output compared byte for byte with that of one. Issue
7 asks for 5,000 layouts a second and core; exit code 3 where that is missed or an output differs."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

SWEEPS = {
    "gpt3-175b on 1,024": ["gpt3-175b", "--on", "A100 80GB", "--gpus", "1024", "--global-batch", "1536", "--vary", "tp=1,2,4,8",
                           "--vary", "pp=1,2,4,8,16,32", "--vary", "micro-batch=1,2,4,8", "--vary", "zero=0,1,2,3",
                           "--vary", "recompute=none,selective,full", "--vary", "schedule=gpipe,1f1b",
                           "--vary", "sequence-parallel=false,true"],
    "gpt3-13b on 64": ["gpt3-13b", "--on", "A100 80GB", "--gpus", "64", "--global-batch", "512", "--vary", "tp=1,2,4,8",
                       "--vary", "pp=1,2,4,8", "--vary", "micro-batch=1,2,4,8,16", "--vary", "zero=0,1,2,3",
                       "--vary", "recompute=none,selective,full", "--vary", "schedule=gpipe,1f1b",
                       "--vary", "sequence-parallel=false,true"],
}


def output_of(command):
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout, time.perf_counter() - start


def timed(text):
    lines = text.splitlines()
    column = lines[0].split(",").index("step_seconds")
    return sum(1 for line in lines[1:] if line.split(",")[column])


def measure(program, words, rounds):
    alone, _ = output_of([program, "sweep", *words])
    seconds = [output_of(["taskset", "-c", "0", program, "sweep", *words])[1] for _ in range(rounds)]
    launcher = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n"]
    same = {ranks: output_of([*launcher, str(ranks), program, "sweep", *words])[0] == alone for ranks in (1, 2, 4)}
    plans, step = timed(alone), statistics.median(seconds)
    return {"layouts": len(alone.splitlines()) - 1, "timed": plans, "seconds_on_one_core": step, "plans_per_second": plans / step,
            "same_by_processes": same}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output")
    arguments = parser.parse_args()
    results = {}
    for name, words in SWEEPS.items():
        results[name] = measure(arguments.program, words, arguments.rounds)
        print(f"{name}: {results[name]['plans_per_second']:.0f} plans/s on a core ({results[name]['timed']} timed,"
              f" {results[name]['seconds_on_one_core']:.2f} s), same by processes: {results[name]['same_by_processes']}")
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(results, indent=1) + "\n")
    good = all(r["plans_per_second"] >= 5000 and all(r["same_by_processes"].values()) for r in results.values())
    return 0 if good else 3


if __name__ == "__main__":
    sys.exit(main())
