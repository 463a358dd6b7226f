#!/usr/bin/env python3
"""Holds the answers that README.md and docs/*.md show after `$ plimsoll …` against what the program prints.

    docs/transcripts.py [PLIMSOLL]            says which shown lines are no longer printed; exit code 1 where there are any
    docs/transcripts.py --write [PLIMSOLL]    puts what is printed now in their places

A line `…` stands for lines left out. What depends on the computer (runs, generated text, measured costs) is not run again.
"""

import difflib
import functools
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
REPEATED = {"fit", "largest", "curve", "schedule", "compare"}  # of the same words the same answer, on every computer
MEASURED_HERE = re.compile(r" (run|again)\.plimsoll")
LEFT_OUT = "…"


@functools.cache
def printed(program: str, command: str) -> tuple[str, ...]:
    """The lines that `command` prints, run in the checkout's folder; files that it writes go to a folder of their own."""
    with tempfile.TemporaryDirectory() as scratch:
        words = [str(pathlib.Path(scratch, w)) if w.endswith(".svg") else w for w in shlex.split(command)[1:]]
        done = subprocess.run([program, *words], capture_output=True, text=True, cwd=ROOT, timeout=120, check=False,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": scratch})
    return tuple(line.rstrip() for line in done.stdout.splitlines())


def transcripts(lines: list[str]):
    """(command, first line shown, end) of every answer in a page: what stands between its command and the next or the fence."""
    at, fenced = 0, False
    while at < len(lines):
        fenced ^= lines[at].startswith("```")
        if not (fenced and lines[at].startswith("$ plimsoll ")):
            at += 1
            continue
        command = lines[at][2:]
        while command.endswith("\\"):
            at += 1
            command = command[:-1] + lines[at].strip()
        end = at + 1
        while not lines[end].startswith(("```", "$ ")):
            end += 1
        yield command, at + 1, end
        at = end


def repeats(command: str) -> bool:
    return command.split()[1] in REPEATED and not MEASURED_HERE.search(command)


def renewed(shown: list[str], now: tuple[str, ...]) -> list[str]:
    """Each shown line as it is printed now: the same one, or the most alike behind the one before it."""
    result, at = [], 0
    for line in shown:
        if line.strip() == LEFT_OUT:
            result.append(line)
            continue
        if at == len(now):
            result.append("")
            continue
        found = now.index(line, at) if line in now[at:] else max(
            range(at, len(now)), key=lambda i: difflib.SequenceMatcher(None, line, now[i]).ratio())
        result.append(now[found])
        at = found + 1
    return result


def main() -> int:
    words = [w for w in sys.argv[1:] if w != "--write"]
    writes = len(words) < len(sys.argv) - 1
    program = str(pathlib.Path(words[0] if words else ROOT / "build/bin/plimsoll").resolve())
    if not pathlib.Path(program).is_file():
        sys.exit(f"transcripts.py: {program} is not there: build the program first (./setup), or name it")
    changed = 0
    for page in [ROOT / "README.md", ROOT / "README.zh.md", *sorted(HERE.glob("*.md"))]:
        lines = page.read_text(encoding="utf-8").split("\n")
        for command, begin, end in transcripts(lines):
            if not repeats(command):
                continue
            shown = lines[begin:end]
            now = renewed(shown, printed(program, command))
            for old, new in zip(shown, now):
                if old != new:
                    changed += 1
                    print(f"{page.relative_to(ROOT)}: {command}\n  shown    {old}\n  printed  {new}")
            lines[begin:end] = now
        if writes:
            page.write_text("\n".join(lines), encoding="utf-8")
    return 1 if changed and not writes else 0


if __name__ == "__main__":
    sys.exit(main())
