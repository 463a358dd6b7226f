#!/usr/bin/env python3
"""Training speed of plimsoll and PyTorch on the CPU: GPT-2 124M, 4 x 256 tokens, fp32, the same weights and batches.

Alternates the two programs, compares their losses, and prints the medians and their ratio. A pair beside which other
programs used more than a tenth of a core is void and repeated. `--survey` times PyTorch's settings instead; the pairs
use the one that was fastest here (see README.md)."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import torch

from busy_cores import OtherPrograms
from gpt2 import Gpt2
from safetensors_file import write_tensors
from token_windows import write_corpus

HERE = pathlib.Path(__file__).resolve().parent
NUMBERS = {"lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "clip": 1.0}
SHAPE = {"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257, "positions": 1024}
MOST_LOSS_DIFFERENCE = 1e-4  # relative; two libraries round differently
MOST_OTHER_CORES = 0.1  # the system's own threads and the checkpoint's way to the drive come to 0.06 to 0.09 on two cores

# glibc gives big blocks back to the system at once and gets them again page by page; these keep and enlarge them.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
               "MALLOC_TOP_PAD_": str(1 << 28)}
HUGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "THP_MEM_ALLOC_ENABLE": "1"}
SETTINGS = {
    "loop": (["--optimizer", "loop"], {}),
    "foreach": (["--optimizer", "foreach"], {}),
    "fused": (["--optimizer", "fused"], {}),
    "fused, gradients kept": (["--optimizer", "fused", "--keep-gradients"], {}),
    "fused, huge pages": (["--optimizer", "fused"], HUGE_PAGES),
    "fused, memory kept": (["--optimizer", "fused"], KEEP_MEMORY),
    "fused, memory kept, huge pages": (["--optimizer", "fused"], KEEP_MEMORY | HUGE_PAGES),
}
BEST_SETTING = "fused, memory kept"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plimsoll", default=HERE.parents[1] / "build/bin/plimsoll", help="the program")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="of each run; the first is left out")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--setting", choices=SETTINGS, default=BEST_SETTING, help="of PyTorch")
    parser.add_argument("--survey", action="store_true", help="time every setting of PyTorch once")
    parser.add_argument("--output", help="also write the answer there, as JSON")
    return parser.parse_args()


def prepare(folder):
    """Weights and tokens that both programs start from."""
    model = Gpt2(**SHAPE)
    model.initialize(seed=1)
    write_tensors(folder / "weights.safetensors",
                  [(name, weight.T if transposed else weight) for name, weight, transposed in model.hugging_face_tensors()])
    write_corpus(folder / "tokens.bin", 100_000, SHAPE["vocabulary"], seed=1)


def run(command, environment):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=os.environ | environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def time_plimsoll(options, folder):
    shape = "gpt:layers={layers},hidden={hidden},heads={heads},vocab={vocabulary},positions={positions}".format(**SHAPE)
    answer = run([options.plimsoll, "run", shape, "--strategy", "resident", "--warm-up-steps", 0, "--json", "--quiet",
                  "--data", folder / "tokens.bin", "--init", folder / "weights.safetensors", "--steps", options.steps,
                  "--batch", options.batch, "--seq", options.length, "--precision", "fp32", "--seed", 1,
                  "--cpu-cores", options.threads, "--lr", NUMBERS["lr"], "--betas", *NUMBERS["betas"],
                  "--eps", NUMBERS["eps"], "--weight-decay", NUMBERS["weight_decay"], "--clip", NUMBERS["clip"],
                  "--force", "--output", folder / "run.plimsoll"], {})
    return {"seconds": answer["step_seconds_median"], "losses": answer["losses"]}


def time_pytorch(options, folder, setting):
    flags, environment = SETTINGS[setting]
    job = {"shape": SHAPE, "batch": options.batch, "length": options.length, "steps": options.steps,
           "threads": options.threads, "numbers": NUMBERS, "seed": 1}
    answer = run([sys.executable, HERE / "train_pytorch.py", "--weights", folder / "weights.safetensors",
                  "--corpus", folder / "tokens.bin", "--job", json.dumps(job), *flags], environment)
    return {"seconds": statistics.median(answer["seconds"][1:]), "losses": answer["losses"]}


def loss_difference(ours, theirs):
    """The largest relative difference of a step's loss."""
    return max(abs(a - b) / abs(b) for a, b in zip(ours["losses"], theirs["losses"], strict=True))


def machine():
    names = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"processor": names[0] if names else platform.processor(), "cores": os.cpu_count(),
            "system": platform.platform(), "python": platform.python_version(), "torch": torch.__version__,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}


def survey(options, folder):
    rows = {}
    for setting in SETTINGS:
        others = OtherPrograms()
        seconds = time_pytorch(options, folder, setting)["seconds"]
        rows[setting] = {"pytorch": seconds, "other_cores": others.cores()}
        print(f"{setting:<34}{seconds:8.3f} s a step, other programs {others.cores():.2f} cores", flush=True)
    return {"survey": rows}


def time_pair(options, folder):
    others = OtherPrograms()
    ours, theirs = time_plimsoll(options, folder), time_pytorch(options, folder, options.setting)
    return {"plimsoll": ours["seconds"], "pytorch": theirs["seconds"], "ratio": theirs["seconds"] / ours["seconds"],
            "loss_difference": loss_difference(ours, theirs), "other_cores": others.cores()}


def compare(options, folder):
    """Pairs until `--pairs` of them count, at most twice as many attempts."""
    pairs, counted = [], []
    print("  plimsoll    PyTorch  ratio  loss difference  other cores", flush=True)
    while len(counted) < options.pairs and len(pairs) < 2 * options.pairs:
        pair = time_pair(options, folder)
        pair["counts"] = pair["other_cores"] <= MOST_OTHER_CORES
        pairs.append(pair)
        if pair["counts"]:
            counted.append(pair)
        row = "{plimsoll:8.3f} s{pytorch:9.3f} s{ratio:7.3f}          {loss_difference:.1e}         {other_cores:.2f}"
        print(row.format(**pair), "" if pair["counts"] else " void", flush=True)
    if not counted:
        return {"setting": options.setting, "pairs": pairs, "counted": 0}
    medians = {key: statistics.median(pair[key] for pair in counted) for key in ("plimsoll", "pytorch", "ratio")}
    print("{plimsoll:8.3f} s{pytorch:9.3f} s{ratio:7.3f}  median of".format(**medians), len(counted),
          "(the ratio is PyTorch's time over plimsoll's)")
    return {"setting": options.setting, "pairs": pairs, "counted": len(counted), "median": medians}


def main():
    options = arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        answer = survey(options, folder) if options.survey else compare(options, folder)
    command = " ".join([pathlib.Path(sys.argv[0]).name, *sys.argv[1:]])
    answer = {"machine": machine(), "command": command, "threads": options.threads, "steps": options.steps,
              "batch": options.batch, "length": options.length} | answer
    if options.output:
        pathlib.Path(options.output).write_text(json.dumps(answer, indent=1) + "\n")
    if any(pair["loss_difference"] > MOST_LOSS_DIFFERENCE for pair in answer.get("pairs", [])):
        sys.exit(f"the losses differ by more than {MOST_LOSS_DIFFERENCE:g}: the programs did not train the same model")
    if not options.survey and answer["counted"] < options.pairs:
        sys.exit("too few pairs counted: end the other programs on this computer and repeat")


if __name__ == "__main__":
    main()
