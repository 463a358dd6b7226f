"""The largest GPT that each strategy trains on a machine, by bisection over its layers with `plimsoll fit`.

    python3 bench/offload/largest_model.py --output bench/results/largest_models.json

Batch 1, 1024 tokens, mixed precision, AdamW, vocabulary 50257. Widths are those with which the sources state models of that
size. Each line of the output has the exact command of the largest model that fits; one more layer does not."""
import argparse
import json
import pathlib
import subprocess
import sys

MACHINES = [
    {"name": "RTX 2060 6GB, 32 GiB RAM", "options": ["--on", "RTX 2060 6GB", "--ram", "32GiB"], "hidden": 1600, "heads": 25},
    {"name": "RTX 3090, 512 GiB RAM", "options": ["--on", "RTX 3090", "--ram", "512GiB"], "hidden": 4096, "heads": 32},
    {"name": "V100 SXM2 32GB, 1.5 TiB RAM", "options": ["--on", "V100 SXM2 32GB", "--ram", "1536GiB"], "hidden": 4096, "heads": 32},
    {"name": "V100 SXM2 32GB, 1.5 TiB RAM, wide", "options": ["--on", "V100 SXM2 32GB", "--ram", "1536GiB"], "hidden": 8192, "heads": 64},
    {"name": "RTX 4090, 256 GiB RAM, 12 SSDs", "options": ["--on", "RTX 4090", "--ram", "256GiB", "--ssd", "46TB:6.5,3.4x12@20", "--clip", "0"],
     "hidden": 12288, "heads": 96},
]
STRATEGIES = ["resident", "chen-sqrt", "zero-offload", "l2l", "zero-3-offload", "gemini", "zero-infinity", "lohan"]


def command_of(machine, strategy, layers):
    model = f"gpt:layers={layers},hidden={machine['hidden']},heads={machine['heads']},vocab=50257,positions=1024"
    return ["fit", model, "--strategy", strategy, "--seq", "1024", "--json"] + machine["options"]


def answer_of(program, command):
    done = subprocess.run([program] + command, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        return None if "SSD" in done.stderr else sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def largest(program, machine, strategy):
    """Layers that fit and the answer for them; nothing when not even one does."""
    fits = lambda layers: (answer_of(program, command_of(machine, strategy, layers)) or {}).get("verdict") == "fits"
    if not fits(1):
        return None
    low, high = 1, 2
    while high <= 1024 and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    command = command_of(machine, strategy, low)
    answer = answer_of(program, command)
    return {"machine": machine["name"], "strategy": strategy, "plan": answer["strategy"]["name"], "layers": low,
            "parameters": answer["model"]["parameters"], "step_seconds": round(answer["step_seconds"], 3),
            "command": "plimsoll " + " ".join(f'"{w}"' if " " in w else w for w in command if w != "--json")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--output")
    arguments = parser.parse_args()
    lines = []
    for machine in MACHINES:
        for strategy in STRATEGIES:
            line = largest(arguments.program, machine, strategy)
            if line is None:
                print(f"{machine['name']:<36}{strategy:<16}{'-':>10}", flush=True)
                continue
            lines.append(line)
            print(f"{machine['name']:<36}{strategy:<16}{line['parameters'] * 1e-9:>8.2f} B{line['layers']:>5} layers"
                  f"{line['step_seconds']:>10.2f} s  {line['plan']}", flush=True)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps({"models": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
