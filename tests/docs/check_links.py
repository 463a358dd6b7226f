#!/usr/bin/env python3
"""Fails where a page links to a file that the checkout does not have."""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1]).resolve()
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
FOLDERS = ("", "docs", "data", "bench", "tests")


def pages():
    for folder in FOLDERS:
        yield from (ROOT / folder).glob("*.md") if not folder else (ROOT / folder).rglob("*.md" if folder == "docs" else "README.md")


broken = [f"{page.relative_to(ROOT)}: {target}" for page in pages() for target in LINK.findall(page.read_text(encoding="utf-8"))
          if "://" not in target and not (page.parent / target).exists()]
print("\n".join(broken))
sys.exit(1 if broken else 0)
