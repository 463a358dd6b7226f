"""Plimsoll: will this training fit, how fast, what limits it.

>>> import plimsoll
>>> plimsoll.fit("gpt2-xl", on="RTX 2060 6GB", ram="16GiB", ssd="200GB")["verdict"]
'fits'
"""

from ._native import version as __version__
from .commands import compare, fit, plan, replay, simulate
from .errors import Error
from .from_torch import StepGraph, from_torch

__all__ = ["Error", "StepGraph", "__version__", "compare", "fit", "from_torch", "plan", "replay", "simulate"]
