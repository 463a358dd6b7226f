"""How near `recompute CHAIN.json --budget` comes to the optimum, on 64 random chains with 453 budgets in all.

    python3 bench/planner/chain_budgets.py --output bench/results/chain_budgets.json

Blocks, sizes and times differ from block to block, so that no two sums are alike: the hardest kind for a table of exact curves.
Held against `persistent_lower_bound`, below which no schedule of the kind that rk-rotor's recurrence searches goes. Exit code 3
where the two differ by more than 1e-6 for any budget, or where a budget has no schedule."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

CHAINS, BUDGETS, WANTED = 64, 453, 1e-6


def option_of(draw, forward, output):
    kept = draw.choice([0, 1, 2, 4])
    again = 0 if kept == 4 else draw.random() * forward
    saved = output + int(output * kept * draw.uniform(0.2, 1))
    return {"forward_seconds": forward, "backward_seconds": 2 * forward + again, "saved_bytes": saved,
            "forward_temporary_bytes": int(output * draw.random()), "backward_temporary_bytes": int(output * draw.random())}


def chain_of(number):
    draw = random.Random(number)
    length = draw.choice([5, 8, 12, 16, 20, 24, 30, 36, 48])
    sizes = [draw.randint(10**5, 10**8) for _ in range(length + 1)]
    blocks = []
    for i in range(length):
        forward = draw.uniform(1e-3, 2e-2)
        options = [option_of(draw, forward, sizes[i + 1]) for _ in range(draw.choice([1, 1, 2, 3]))]
        blocks.append({"input_bytes": sizes[i], "forward_only_seconds": forward,
                       "forward_only_temporary_bytes": int(sizes[i + 1] * draw.random()), "options": options})
    return {"format_version": 1, "output_bytes": sizes[-1], "blocks": blocks}


def answer_of(program, file, budget):
    start = time.perf_counter()
    done = subprocess.run([program, "recompute", str(file), "--budget", str(budget), "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{file}: {done.stderr}")
    return json.loads(done.stdout), time.perf_counter() - start


def budgets_of(program, file, count):
    """From the least that the chain needs to what it takes without recomputation."""
    least = answer_of(program, file, 1)[0]["minimum_bytes"]
    blocks = json.loads(file.read_text())["blocks"]
    most = least + sum(max(o["saved_bytes"] for o in b["options"]) for b in blocks)
    return [int(least + (most - least) * (i / count) ** 1.5) for i in range(count)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--chains", type=int, default=CHAINS)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.chains):
            file = pathlib.Path(folder) / f"chain{number}.json"
            file.write_text(json.dumps(chain_of(number)))
            count = BUDGETS // CHAINS + (1 if number < BUDGETS % CHAINS else 0)
            for budget in budgets_of(arguments.program, file, count):
                answer, seconds = answer_of(arguments.program, file, budget)
                gap = answer["time"] / answer["persistent_lower_bound"] - 1 if answer["feasible"] else None
                rows.append({"chain": number, "blocks": len(json.loads(file.read_text())["blocks"]), "budget_bytes": budget,
                             "exact": answer["exact"], "gap": gap, "seconds": round(seconds, 3)})
            print(number, rows[-1]["blocks"], max(r["gap"] or 0 for r in rows if r["chain"] == number), flush=True)
    reached = [r for r in rows if r["gap"] is not None and r["gap"] <= WANTED]
    summary = {"budgets": len(rows), "within_1e-6": len(reached), "worst_gap": max((r["gap"] or 0) for r in rows),
               "without_schedule": sum(r["gap"] is None for r in rows), "slowest_seconds": max(r["seconds"] for r in rows)}
    print(json.dumps(summary))
    pathlib.Path(arguments.output).write_text(json.dumps({"summary": summary, "budgets": rows}, indent=1) + "\n")
    return 0 if len(reached) == len(rows) else 3


if __name__ == "__main__":
    sys.exit(main())
