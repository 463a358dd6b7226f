#!/usr/bin/env python3
"""Holds `plimsoll tokenize` against Hugging Face's tokenizers on a megabyte of mixed text: Chinese, English, code, emoji,
combining marks, odd white space. Needs: pip install tokenizers

  tests/reference/compare_tokens.py build/bin/plimsoll TOKENIZER.json ...
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import tokenizers
from make_tokenizers import HERE, english, mixed_text

ROOT = HERE.parent.parent


def text():
    code = "".join(path.read_text(encoding="utf8") for path in sorted((ROOT / "core").rglob("*.cpp"))[:40])
    return english(60000) + code[:300000] + mixed_text(720000, seed=11)


def tokens_of(program, tokenizer, file, output):
    command = [program, "tokenize", "--tokenizer", tokenizer, file, "--format", "text", "-o", output, "--json", "--force"]
    made = subprocess.run(command + ["--end", end_of(tokenizer)], capture_output=True, text=True)
    if made.returncode:
        raise SystemExit(made.stderr)
    answer = json.loads(made.stdout)
    width = {2: "<u2", 4: "<u4"}[answer["bytes_per_token"]]
    return numpy.fromfile(output, dtype=width, count=answer["tokens"])[:-1].tolist(), answer["seconds"]


def end_of(tokenizer):
    return json.loads(pathlib.Path(tokenizer).read_text(encoding="utf8"))["added_tokens"][0]["content"]


def main():
    program, names = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/mixed.txt"
        pathlib.Path(file).write_bytes(text().encode())
        size = pathlib.Path(file).stat().st_size
        print(f"{size} bytes, tokenizers {tokenizers.__version__}")
        for name in names:
            reference = tokenizers.Tokenizer.from_file(name)
            begin = time.time()
            wanted = reference.encode(text()).ids
            theirs = time.time() - begin
            found, ours = tokens_of(program, name, file, f"{folder}/tokens.bin")
            verdict = "equal" if found == wanted else "DIFFERENT"
            print(f"{pathlib.Path(name).stem:10} {len(wanted):8} tokens {verdict}; {len(found) / ours / 1e6:5.2f} M tokens/s, "
                  f"{size / ours / 1e6:5.1f} MB/s (tokenizers: {len(wanted) / theirs / 1e6:5.2f} M tokens/s)")


if __name__ == "__main__":
    main()
