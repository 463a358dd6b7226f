"""Prints plimsoll/commands.pyi: the functions with every keyword that the program's commands take. Run it with a built module:
PYTHONPATH=build/python python3 scripts/write_python_stubs.py > python/plimsoll/commands.pyi"""

import textwrap

from plimsoll import _native

HEAD = '''# Made by scripts/write_python_stubs.py from the program's own options; tests/python holds it to them.
from os import PathLike
from typing import Any

_Path = str | PathLike[str]
_Value = str | int | float
_List = str | list[str] | tuple[str, ...]
'''

FUNCTIONS = {
    "fit": ("model: _Path, on: str | None = ...", {"on"}),
    "plan": ("model: _Path, on: str | None = ..., output: _Path = ...", {"on", "output"}),
    "simulate": ("plan: _Path", set()),
    "replay": ("trace: _Path", set()),
    "compare": ("run: _Path, other: _Path | None = ...", set()),
}


def keyword(option: _native.CommandOption) -> str:
    kind = "bool" if option.flag else "_List" if option.many else "_Value | _Path"
    line = f"    {option.name}: {kind} | None = ...,  # "
    return line + textwrap.shorten(option.help, 128 - len(line), placeholder=" …")


def stub(name: str) -> str:
    fixed, known = FUNCTIONS[name]
    keywords = [keyword(option) for option in _native.command_options(name) if option.name not in known]
    return "\n".join([f"def {name}(", f"    {fixed},", "    *,", *keywords, ") -> Any: ..."])


def all_stubs() -> str:
    return HEAD + "\n" + "\n\n".join(stub(name) for name in FUNCTIONS) + "\n"


if __name__ == "__main__":
    print(all_stubs(), end="")
