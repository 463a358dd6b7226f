"""Runs the three best plans of small models on this computer, and tells whether they come in the order that was predicted.

    python3 bench/planner/confirm_order.py --output bench/results/confirm_order.json

For each case a short run measures this computer (its kernels and copies, by its warm-up); `fit` with these measurements finds
the best plans of all families and systems; the fastest, and the two fastest that are predicted to be at least 5 % slower than
the one before, are trained in turn, in many short rounds, of which each plan's fastest counts (others were disturbed: what
else runs on the computer only ever adds time, and stays away from some of them). A case is in order when no plan took over
3 % longer than one that was predicted to be slower; `strict` allows nothing. `in_order_paired` compares two plans within each
round, where they meet the same computer, and takes the median of these ratios: rounds minutes apart differ by more than plans do
on a busy computer; it is told beside. Issue 7 asks for 9 of 10 cases in order; exit code 3 where that is missed. With --cases A B
only those, by number; results of others are kept."""
import argparse
import json
import pathlib
import statistics
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from plimsoll_runs import answer_of, option, train

PLANS = 3
TOLERANCE = 0.03  # by so much runs of one plan differ on a quiet computer (bench/accuracy)
DISTINCT = 1.05  # closer plans are equally good as far as a prediction means anything
OTHER_RECIPE = {"zero-offload-delayed", "fuyou", "lohan"}  # delayed, or without clipping
# model, batch, accumulate, sequence, device memory: the last too little for everything, or just enough
CASES = [
    ("gpt:layers=6,hidden=128,heads=4,vocab=256,positions=128", 4, 1, 128, "28MiB"),
    ("gpt:layers=6,hidden=128,heads=4,vocab=256,positions=128", 4, 2, 128, "24MiB"),
    ("gpt:layers=8,hidden=192,heads=6,vocab=256,positions=128", 2, 1, 128, "44MiB"),
    ("gpt:layers=8,hidden=192,heads=6,vocab=256,positions=128", 2, 2, 128, "36MiB"),
    ("gpt:layers=4,hidden=256,heads=8,vocab=512,positions=64", 4, 1, 64, "48MiB"),
    ("gpt:layers=4,hidden=256,heads=8,vocab=512,positions=64", 4, 1, 64, "36MiB"),
    ("llama:layers=6,hidden=128,heads=4,vocab=256,positions=128", 4, 1, 128, "28MiB"),
    ("llama:layers=6,hidden=192,heads=6,vocab=256,positions=128", 2, 2, 128, "30MiB"),
    ("gpt:layers=12,hidden=96,heads=4,vocab=256,positions=128", 4, 1, 128, "28MiB"),
    ("gpt:layers=12,hidden=96,heads=4,vocab=256,positions=128", 4, 2, 128, "22MiB"),
]


def machine(case):
    return [*option("device-memory", case[4]), *option("ram", "3GiB"), *option("cpu-cores", 2)]


def fitted(program, case, calibration):
    """The fastest plan, then each time the fastest that is predicted to be slower by what predictions can tell apart."""
    model, batch, accumulate, sequence, _ = case
    words = [program, "fit", model, *option("batch", batch), *option("accumulate", accumulate), *option("seq", sequence),
             *machine(case), *option("calibration", calibration), "--json"]
    own = answer_of(words)
    plans = [(own["strategy"], own["step_seconds"])]
    plans += [(a["choices"], a["step_seconds"]) for a in own["alternatives"] if a["fits"]]
    plans += [(a["strategy"], a["step_seconds"]) for a in answer_of([*words, *option("strategy", "all")])
              if a["verdict"] == "fits" and a["strategy"]["name"] not in OTHER_RECIPE]
    best = []
    for plan in sorted(plans, key=lambda plan: plan[1]):
        if len(best) < PLANS and (not best or plan[1] >= DISTINCT * best[-1][1]):
            best.append(plan)
    return best


def measured(arguments, case, strategy, folder):
    words = {"model": case[0], "batch": case[1], "accumulate": case[2], "sequence": case[3]}
    answer = train(arguments.program, arguments.data, words, machine(case), strategy, arguments.steps, 0, folder)
    return answer["step_seconds_median"]


def calibration_of(arguments, case, folder):
    model, batch, accumulate, sequence, _ = case
    file = pathlib.Path(folder) / "measured.plimsoll"
    answer_of([arguments.program, "run", model, *option("data", arguments.data), *option("batch", batch),
               *option("accumulate", accumulate), *option("seq", sequence), *option("matmul", "onednn"), *machine(case),
               *option("steps", 12), *option("warm-up-steps", 6), "--quiet", "--json", *option("output", file)])
    return file


def is_paired_in_order(plans):
    """Whether no plan takes over 3 % longer than one that was predicted to be slower, in the middle of the rounds."""
    pairs = [(plans[i]["rounds"], plans[k]["rounds"]) for i in range(len(plans)) for k in range(i + 1, len(plans))]
    return all(statistics.median(a / b for a, b in zip(*pair)) <= 1 + TOLERANCE for pair in pairs)


def summary_of(results):
    return {"cases": len(results), "in_order": sum(r["in_order"] for r in results),
            "in_order_paired": sum(is_paired_in_order(r["plans"]) for r in results), "strict": sum(r["strict"] for r in results)}


def run_case(arguments, case):
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        plans = fitted(arguments.program, case, calibration_of(arguments, case, folder))
        rounds = [[measured(arguments, case, strategy, folder) for strategy, _ in plans] for _ in range(arguments.rounds)]
    steps = [min(r[i] for r in rounds) for i in range(len(plans))]
    spread = max(max(r[i] for r in rounds) / min(r[i] for r in rounds) - 1 for i in range(len(plans)))
    pairs = [(i, k) for i in range(len(plans)) for k in range(i + 1, len(plans))]
    wrong = [steps[i] / steps[k] - 1 for i, k in pairs if steps[i] > steps[k]]
    return {"case": list(case), "plans": [{"strategy": s, "predicted_seconds": p, "measured_seconds": m,
                                           "rounds": [r[i] for r in rounds]} for i, ((s, p), m) in enumerate(zip(plans, steps))],
            "spread_of_rounds": spread, "worst_inversion": max(wrong, default=0), "strict": not wrong,
            "in_order": all(w <= TOLERANCE for w in wrong)}


def line_of(number, result):
    plans = "  ".join(f"{p['strategy']['name']} {1e3 * p['predicted_seconds']:.1f}/{1e3 * p['measured_seconds']:.1f}"
                      for p in result["plans"])
    return (f"{number:>2} {'in order' if result['in_order'] else 'NOT'} (strict: {result['strict']}, spread"
            f" {100 * result['spread_of_rounds']:.1f} %)  predicted/measured ms: {plans}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--data", default="data/texts/us-constitution.txt")
    parser.add_argument("--folder", default=".")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--cases", type=int, nargs="*", default=range(len(CASES)))
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    stored = pathlib.Path(arguments.output)
    results = json.loads(stored.read_text())["cases"] if stored.exists() else {}
    for number in arguments.cases:
        results[str(number)] = run_case(arguments, CASES[number])
        print(line_of(number, results[str(number)]), flush=True)
        summary = summary_of(list(results.values()))
        stored.write_text(json.dumps({"summary": summary, "cases": results}, indent=1) + "\n")
    print(json.dumps(summary))
    return 0 if 10 * summary["in_order"] >= 9 * summary["cases"] else 3


if __name__ == "__main__":
    sys.exit(main())
