"""How long each kind of answer takes, as a user asks for it, and whether two builds answer alike.

    python3 bench/answers/answer_seconds.py --output bench/results/answer_seconds.json
    python3 bench/answers/answer_seconds.py --program OLD --answers /tmp/before
    python3 bench/answers/answer_seconds.py --answers /tmp/after && diff -r /tmp/before /tmp/after

Issue 6 asks for less than 2 s each, start of the program included. Exit code 3 where one takes longer."""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import time

MOST_SECONDS = 2.0

BLOCK = "gpt:layers=1,hidden=4096,heads=32,vocab=50257,positions=1024"
NARROW = "gpt:layers=1,hidden=1600,heads=25,vocab=50257,positions=1024"
QUESTIONS = {
    "fit": 'fit gpt2-xl --on "RTX 2060 6GB" --ram 32GiB',
    "fit-days": 'fit gpt2-xl --on "RTX 3090" --ram 64GiB --tokens chinchilla --price 0.3',
    "fit-8b": 'fit llama-3-8b --on "RTX 3090" --ram 128GiB --ssd 2TB --batch 4 --seq 2048',
    "fit-short": 'fit gpt2-xl --on "RTX 2060 6GB" --ram 16GiB',
    "fit-short-405b": 'fit llama3.1-405b --on "RTX 4090" --ram 256GiB',
    "largest-2060": 'largest --on "RTX 2060 6GB" --ram 32GiB',
    "largest-2060-narrow": f'largest {NARROW} --on "RTX 2060 6GB" --ram 64GiB',
    "largest-3090": f'largest {BLOCK} --on "RTX 3090" --ram 320GiB',
    "largest-3090-ssd": f'largest {BLOCK} --on "RTX 3090" --ram 64GiB --ssd 4TB',
    "largest-v100": f'largest {BLOCK} --on "V100 SXM2 32GB" --ram 416GiB',
    "largest-deep": f'largest {NARROW} --on "RTX 3090" --ram 320GiB',
    "largest-all": f'largest {BLOCK} --on "RTX 3090" --ram 320GiB --strategies all',
    "largest-batch": 'largest gpt2-xl --what batch --on "RTX 3090" --ram 64GiB',
    "largest-sequence": 'largest llama-3.2-1b --what sequence --on "RTX 4090" --ram 64GiB',
    "largest-width": 'largest --what width gpt:layers=24,hidden=1024,heads=16,vocab=50257,positions=1024 --on "RTX 3090" '
                     '--ram 64GiB',
    "largest-family": 'largest --family gpt3 --on "RTX 3090" --ram 256GiB',
    "largest-llama": 'largest llama:layers=1,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256 --on "RTX 4090" --ram 128GiB',
    "help": 'fit gpt2-xl --on "RTX 2060 6GB" --ram 32GiB --what-would-help',
    "help-8b": 'fit llama-3-8b --on "RTX 3090" --ram 64GiB --what-would-help',
    "help-prices": 'fit gpt2-xl --on "RTX 2060 6GB" --ram 16GiB --what-would-help --price-of ram=3 --price-of ssd=60 '
                   '--price-of "RTX 3090=700"',
    "help-ssd": 'fit llama-3-8b --on "RTX 2060 6GB" --ram 32GiB --ssd 1TB:3.5,2.5 --what-would-help --price-of ram=3',
    "curve": 'curve --family gpt3 --on "RTX 3090" --ram 256GiB --tokens chinchilla',
    "inference": 'fit opt-30b --workload inference --on T4 --ram 208GiB --ssd 1.5TB:2,1',
    "dpo": 'fit llama-3.2-1b --workload dpo --on "RTX 4090" --ram 64GiB',
    "ppo": 'fit gpt2-xl --workload ppo --on "RTX 3090" --ram 128GiB',
    "headlines": "headlines",
}


def asked(program, words, form):
    start = time.perf_counter()
    done = subprocess.run([program, *words, *form], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(words)}\n{done.stderr}")
    return done.stdout, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bin/plimsoll")
    parser.add_argument("--output")
    parser.add_argument("--machine", default="", help="what it ran on, for who reads the output")
    parser.add_argument("--answers", help="a folder for what was answered, to compare with another build's")
    parser.add_argument("--only", default="", help="questions whose name begins so")
    parser.add_argument("--repeat", type=int, default=1, help="times each is asked; the least counts")
    arguments = parser.parse_args()
    rows = []
    for name, question in QUESTIONS.items():
        if not name.startswith(arguments.only):
            continue
        words = shlex.split(question)
        form = ["--json"]
        runs = [asked(arguments.program, words, form) for _ in range(arguments.repeat)]
        seconds = min(seconds for _, seconds in runs)
        rows.append({"question": name, "command": "plimsoll " + question, "seconds": round(seconds, 2)})
        print(f"{name:<24}{seconds:>7.2f} s", flush=True)
        if arguments.answers:
            folder = pathlib.Path(arguments.answers)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}.json").write_text(runs[0][0])
    slow = [row["question"] for row in rows if row["seconds"] >= MOST_SECONDS]
    if arguments.output:
        stored = {"machine": arguments.machine, "most_seconds": MOST_SECONDS, "slower": slow, "answers": rows}
        pathlib.Path(arguments.output).write_text(json.dumps(stored, indent=1) + "\n")
    sys.exit(3 if slow else 0)


if __name__ == "__main__":
    main()
