"""What the checks of exporters share: running the program, and skipping visibly where a package is missing."""
import importlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
PROGRAM = shutil.which(sys.argv[1] if len(sys.argv) > 1 else "plimsoll")
if PROGRAM is None:
    sys.exit("no program there: give the path of a built plimsoll, as in check_deepspeed.py build/bin/plimsoll")
PROGRAM = pathlib.Path(PROGRAM).resolve()  # it runs in another folder
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="plimsoll-exporters-"))


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(SKIPPED)


def need(*packages):
    """The packages, imported; the check is skipped where one is missing or does not load."""
    modules = []
    for package in packages:
        try:
            modules.append(importlib.import_module(package))
        except ImportError as error:
            skip(f"{package} is not installed here ({error})")
    return modules if len(modules) > 1 else modules[0]


def plimsoll(*arguments, code=0):
    """Runs the program; its standard output. Another exit code than `code` ends the check."""
    ended = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=FOLDER)
    if ended.returncode != code:
        sys.exit(f"plimsoll {' '.join(map(str, arguments))} ended with {ended.returncode}, not {code}:\n{ended.stderr}")
    return ended.stdout


def export(target, *arguments, name, code=0):
    """Exports to a file of that name; its path."""
    plimsoll("export", *arguments, "--to", target, "-o", FOLDER / name, code=code)
    return FOLDER / name


def export_json(target, *arguments, name):
    return json.loads(export(target, *arguments, name=name).read_text())


def equal(what, got, expected):
    if got != expected:
        sys.exit(f"{what}: {got!r}, expected {expected!r}")


def load_script(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
