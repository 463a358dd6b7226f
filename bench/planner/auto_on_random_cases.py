"""Holds `auto` against every named strategy on random models, trainings and machines, to find one that beats it.

    python3 bench/planner/auto_on_random_cases.py --cases 300 --output bench/results/auto_on_random_cases.json

A case is drawn from its number alone: a model of 2 to 48 blocks, and a machine whose memories hold from far too little to
more than enough of it. `auto` is worse where a named strategy of the same recipe fits and it does not, or takes longer; exit
code 3 where that was found once. With --first N the cases start at that number; results of others are kept."""
import argparse
import json
import pathlib
import random
import subprocess
import sys

OTHER_RECIPE = {"zero-offload-delayed"}  # its updates are delayed, which changes numbers
OWN_FAMILIES = ("resident", "recompute", "offload-", "stream")
WITHOUT_BF16 = {"RTX 2060 6GB", "V100 SXM2 32GB"}
GPUS = {"RTX 2060 6GB": 6, "RTX 3090": 24, "RTX 4090": 24, "V100 SXM2 32GB": 32, "A100 SXM4 80GB": 80, "H100 SXM5 80GB": 80}
DRIVES = [[], ["--ssd", "1TB:3.5,2.5"], ["--ssd", "2TB:7,5"], ["--ssd", "46TB:6.5,3.4x12@20"]]


def model_of(draw):
    """In words, and its parameters (about)."""
    kind, layers = draw.choice(["gpt", "llama"]), draw.randint(2, 48)
    heads = draw.choice([4, 8, 16, 32])
    hidden, vocab = heads * draw.choice([32, 64, 128]), draw.choice([1024, 32000, 50257, 128256])
    return (f"{kind}:layers={layers},hidden={hidden},heads={heads},vocab={vocab},positions=4096",
            layers * 12 * hidden * hidden + vocab * hidden)


def about(share, parameters):
    """MiB that hold so many of 16 bytes a parameter, and at least what a small step needs."""
    return max(64, int(share * 16 * parameters / 2**20))


def case_of(number):
    """The words of one case."""
    draw = random.Random(number)
    model, parameters = model_of(draw)
    device = about(draw.choice([0.05, 0.1, 0.2, 0.4, 0.7, 1.1, 2]), parameters) + draw.choice([0, 256, 2048])
    # Of the RAM 2 GiB are for the process itself.
    host = about(draw.choice([0.1, 0.3, 0.6, 0.9, 1.2, 3]), parameters) + draw.choice([2048 + 128, 2048 + 2048])
    gpu = draw.choice(list(GPUS))
    device = min(device, 1024 * GPUS[gpu] - 512)
    words = [model, "--on", gpu, "--device-memory", f"{device}MiB", "--ram", f"{host}MiB", *draw.choice(DRIVES)]
    words += ["--batch", str(draw.choice([1, 2, 4, 8])), "--accumulate", str(draw.choice([1, 1, 2, 4])),
              "--seq", str(draw.choice([128, 512, 1024, 2048]))]
    halves = ["fp16-mixed"] if gpu in WITHOUT_BF16 else ["bf16-mixed", "bf16-mixed", "fp16-mixed"]
    words += ["--precision", draw.choice([*halves, "fp32"])]
    return words + (["--clip", "0"] if draw.random() < 0.2 else [])


def answer_of(program, words, strategy):
    command = [program, "fit", *words, "--strategy", strategy, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def result_of(program, number):
    words = case_of(number)
    own = answer_of(program, words, "auto")
    everything = answer_of(program, words, "all")
    rivals = {a["strategy"]["name"]: a["step_seconds"] for a in everything if a["verdict"] == "fits"
              and a["strategy"]["name"] not in OTHER_RECIPE and not a["strategy"]["name"].startswith(OWN_FAMILIES)}
    result = {"words": " ".join(words), "step_seconds": own["step_seconds"] if own["verdict"] == "fits" else None}
    if rivals:
        best = min(rivals, key=rivals.get)
        result |= {"best_named": best, "best_named_seconds": rivals[best]}
    result["worse"] = bool(rivals) and (result["step_seconds"] is None
                                        or result["step_seconds"] > result["best_named_seconds"])
    return result


def summary_of(results):
    both = [r for r in results if r["step_seconds"] is not None and "best_named" in r]
    return {"cases": len(results), "worse_than_a_named_one": sum(r["worse"] for r in results), "both_fit": len(both),
            "only_auto_fits": sum(r["step_seconds"] is not None and "best_named" not in r for r in results),
            "none_fits": sum(r["step_seconds"] is None and "best_named" not in r for r in results),
            "a_tenth_faster": sum(r["best_named_seconds"] >= 1.1 * r["step_seconds"] for r in both)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--output", required=True)
    arguments = parser.parse_args()
    stored = pathlib.Path(arguments.output)
    results = json.loads(stored.read_text())["cases"] if stored.exists() else {}
    for number in range(arguments.first, arguments.first + arguments.cases):
        results[str(number)] = result = result_of(arguments.program, number)
        if result["worse"]:
            print(number, json.dumps(result), flush=True)
        summary = summary_of(list(results.values()))
        stored.write_text(json.dumps({"summary": summary, "cases": results}, indent=1) + "\n")
    print(json.dumps(summary))
    return 3 if summary["worse_than_a_named_one"] else 0


if __name__ == "__main__":
    sys.exit(main())
