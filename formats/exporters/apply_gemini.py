"""Makes Colossal-AI's booster from arguments that `plimsoll export --to gemini` wrote.

    booster = make_booster("gemini.json")
    model, optimizer, *rest = booster.boost(model, HybridAdam(model.parameters()))
"""
import json
import pathlib

VERSION = 1


def load_arguments(path=None):
    """The arguments in `path`; without one, the JSON file beside this script."""
    path = pathlib.Path(path) if path else pathlib.Path(__file__).with_suffix(".json")
    arguments = json.loads(path.read_text())
    if arguments.get("format_version") != VERSION:
        raise ValueError(f"{path}: format_version {arguments.get('format_version')} is not {VERSION}")
    return arguments


def make_booster(path=None):
    from colossalai.booster import Booster
    from colossalai.booster.plugin import GeminiPlugin

    return Booster(plugin=GeminiPlugin(**load_arguments(path)["plugin"]))
