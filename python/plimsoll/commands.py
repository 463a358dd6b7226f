"""The commands fit, plan, simulate, replay and compare as functions. Their keywords are the program's options (--what-would-help
is what_would_help=True; plimsoll fit --help tells of each), their answers what --json prints. The interpreter's lock is free
while they work, so that threads may ask side by side."""

from __future__ import annotations

import json
import os
from typing import Any

from . import _native
from .errors import Error


def _values(value: Any) -> list[str]:
    if value is True:
        return []
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [os.fspath(value) if isinstance(value, os.PathLike) else str(value)]


def _denials(name: str, keys: list[str]) -> list[tuple[str, list[str]]]:
    """What keywords that are False say: --no-sequence-parallel, where an option can be denied; of the others, nothing. One that
    is no option is handed on, to be refused as it would be with any other value."""
    if not keys:
        return []
    known = {option.name for option in _native.command_options(name)} | {"json"}
    return [("no_" + key if "no_" + key in known else key, []) for key in keys if "no_" + key in known or key not in known]


def _check_values(name: str, flags: dict[str, Any]) -> None:
    """Refuses True for an option that takes a value: it would take the subject for one."""
    takes_value = {option.name for option in _native.command_options(name) if not option.flag}
    for key, value in flags.items():
        if value is True and key in takes_value:
            raise Error(f"{key}=True says no value", "--" + key.replace("_", "-"), f"say which: {key}=...")


def _ask(name: str, subjects: list[Any], flags: dict[str, Any]) -> Any:
    _check_values(name, flags)
    keywords = [(key, _values(value)) for key, value in flags.items() if value is not None and value is not False]
    keywords += _denials(name, [key for key, value in flags.items() if value is False])
    asked = _native.ask_command(name, [os.fspath(subject) for subject in subjects], keywords)
    if asked.failed:
        raise Error(asked.what, asked.where, asked.remedy, asked.kind, asked.exit_code)
    return json.loads(asked.json)


def fit(model: str | os.PathLike[str], on: str | None = None, **flags: Any) -> Any:
    """Will the training of `model` fit on that GPU, how fast, and what limits it?

    `model` is a zoo name, a config.json, a .safetensors file, a folder, a shape in words, or a step graph. Without `on` the
    machine is this computer. The answer is a dict (docs/python.md); a list of them with strategy="all".

    >>> answer = plimsoll.fit("gpt2-xl", on="RTX 2060 6GB", ram="16GiB", ssd="200GB")
    >>> answer["verdict"], answer["step_seconds"], answer["memory"][0]["peak_bytes"]

    Raises plimsoll.Error for what the program would refuse.
    """
    return _ask("fit", [model], {"on": on, **flags})


def plan(model: str | os.PathLike[str], on: str | None = None, output: str | os.PathLike[str] = "plan.json", **flags: Any) -> Any:
    """Finds the fastest plan that fits, writes it to `output`, and answers as fit does. Nothing is written when nothing fits.

    >>> plimsoll.plan("gpt2", on="RTX 3090", batch=8, output="gpt2.json")["strategy"]["name"]
    """
    return _ask("plan", [model], {"on": on, "output": output, **flags})


def simulate(plan: str | os.PathLike[str], **flags: Any) -> Any:
    """Verifies a plan file and times it; answers as fit does.

    >>> plimsoll.simulate("gpt2.json", calibration="run.plimsoll")["step_seconds"]
    """
    return _ask("simulate", [plan], flags)


def replay(trace: str | os.PathLike[str], **flags: Any) -> Any:
    """Runs a recorded trace again in simulated time; with scale= and no_host_gaps= asks what if.

    >>> plimsoll.replay("trace.json.gz", scale=["kernel=gemm:0.8"])["predicted_seconds"]
    """
    return _ask("replay", [trace], flags)


def compare(run: str | os.PathLike[str], other: str | os.PathLike[str] | None = None, **flags: Any) -> Any:
    """Predicted against measured, or two runs: step time by phase, peak memory by category, losses.

    >>> plimsoll.compare("run.plimsoll")["step"]["error"]
    """
    return _ask("compare", [run] if other is None else [run, other], flags)
