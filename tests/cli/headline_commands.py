"""Runs every command that `plimsoll headlines` prints, as a user would copy it, and compares its figure with the printed one.

    python3 tests/cli/headline_commands.py --program build/bin/plimsoll

Exit code 3 where a command fails or says something else."""
import argparse
import json
import shlex
import subprocess
import sys

HOUR = 3600
YEAR = 365.25 * 24 * HOUR


def said(program, command):
    words = shlex.split(command)
    if words[0] != "plimsoll":
        sys.exit(f"{command}\nis no command line of plimsoll")
    done = subprocess.run([program, *words[1:], "--json"], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def gpus_of(answer, command):
    if "gpus" in answer:
        return answer["gpus"]
    words, gpus = shlex.split(command), 1
    for option in ("--dp", "--tp", "--pp", "--dap"):
        gpus *= int(words[words.index(option) + 1]) if option in words else 1
    return gpus


def figure_of(name, answer, command):
    training = answer.get("training") or {}
    seconds = training.get("seconds") or answer.get("training_seconds") or 0
    fits = answer.get("verdict", "fits") == "fits"
    if name == "fits":
        return 1.0 if fits else 0.0
    if name == "tflops_8n":
        parameters = answer["model"].get("active_parameters", answer["model"]["parameters"])
        return 8e-12 * parameters * answer["tokens_per_second"] / gpus_of(answer, command)
    if name == "state_gb":
        by = answer["memory"][0]["by_category"]
        return 1e-9 * (by["parameters"] + by["gradients"] + by["optimizer"])
    if name == "activation_gb":
        return 1e-9 * answer["memory"][0]["by_category"]["activations"]
    if name == "bubble_of_ideal":
        return answer["bubble_fraction"] / (1 - answer["bubble_fraction"])
    simple = {"step_seconds": answer.get("step_seconds"), "tokens_per_second": answer.get("tokens_per_second"),
              "hours": seconds / HOUR, "days": seconds / (24 * HOUR), "gpu_years": seconds * gpus_of(answer, command) / YEAR,
              "cost_millions": 1e-6 * (training.get("cost") or 0), "bubble_percent": 100 * answer.get("bubble_fraction", 0)}
    return simple[name]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    arguments = parser.parse_args()
    printed = subprocess.run([arguments.program, "headlines", "--json"], capture_output=True, text=True, check=True)
    lines = json.loads(printed.stdout)
    wrong = 0
    for line in lines:
        if line["command"] is None:
            continue
        try:
            value = figure_of(line["figure"], said(arguments.program, line["command"]), line["command"])
            if line["against"]:
                other = figure_of(line["figure"], said(arguments.program, line["against"]), line["against"])
                value = other / value
            good = abs(value - line["ours"]) <= 1e-4 * max(1e-9, abs(line["ours"]))
            print(f"{'' if good else 'WRONG ':<6}{line['id']:<24}{line['ours']:>14.6g}{value:>14.6g}", flush=True)
        except (RuntimeError, KeyError, TypeError, ZeroDivisionError) as problem:
            good = False
            print(f"WRONG {line['id']:<24}{problem}", flush=True)
        wrong += not good
    print(f"{wrong} of {len(lines)} lines disagree with their command")
    sys.exit(3 if wrong else 0)


if __name__ == "__main__":
    main()
