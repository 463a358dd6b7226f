"""A real torch.nn.Module as a graph, without executing it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .commands import fit
from .errors import Error

_TF32 = {"fp32": "tf32"}


@dataclass(frozen=True)
class StepGraph:
    """One forward and backward pass of a module, as docs/graph-format.md has it."""

    data: dict[str, Any]

    @property
    def parameters(self) -> int:
        """Elements of all parameters; a tied one counts once."""
        total = 0
        for parameter in self.data["parameters"]:
            elements = 1
            for size in parameter["shape"]:
                elements *= size
            total += elements
        return total

    @property
    def saved_bytes(self) -> int:
        """Bytes that forward makes and backward waits for; no parameters, buffers or inputs."""
        return int(self.data["saved_bytes"])

    def flops(self, phase: str | None = None) -> float:
        """Floating-point operations of "forward", "backward", or both; a multiplication with its addition counts two."""
        ops = [op for op in self.data["ops"] if phase is None or op["phase"] == phase]
        return sum(kernel.get("flops", 0.0) for op in ops for kernel in op["kernels"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph where `plimsoll fit PATH --on GPU` reads it."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.data, file, separators=(",", ":"))

    def fit(self, on: str, **flags: Any) -> Any:
        """Will the training of this very module under PyTorch fit on that GPU? Simulated: its allocations in their order through
        PyTorch's allocator, its kernels at published rates. Keywords: optimizer, optimizer_loop, accumulate, and those of the
        machine.

        >>> plimsoll.from_torch(model, batch).fit("RTX 3090", optimizer="adamw")["memory"][0]["peak_reserved_bytes"]
        """
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.json")
            self.save(path)
            return fit(path, on=on, **flags)


def _samples(batch: Any) -> tuple[int, int | None]:
    """Samples of a batch, and tokens of each where it is of whole numbers in rows."""
    from .recorded.kernels import tensors_in

    tensors = tensors_in(batch)
    if not tensors or tensors[0].dim() == 0:
        return 1, None
    first = tensors[0]
    rows_of_tokens = first.dim() == 2 and not first.is_floating_point()
    return first.shape[0], first.shape[1] if rows_of_tokens else None


def from_torch(model: Any, batch: Any, *, loss: Callable[[Any], Any] | None = None, precision: str | None = None,
               name: str | None = None) -> StepGraph:
    """Records one training step of `model` on `batch` as a GPU would run it. Nothing is executed and no memory is taken for
    it: the model may be on torch.device("meta"), and there need be no GPU. The model itself is not changed.

    `batch`: a dict of keywords, a tuple of arguments, or one argument of the model; values do not matter.
    `loss`: a function from the model's output to one number. Left out: the output's `loss`, or the mean of an output that is one
    tensor. `precision`: "bf16-mixed" or "fp16-mixed" for torch.autocast, "tf32"; left out: the parameters' own type.

    >>> with torch.device("meta"):
    ...     model = transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False))
    >>> ids = torch.zeros(1, 1024, dtype=torch.long)
    >>> graph = plimsoll.from_torch(model, {"input_ids": ids, "labels": ids})
    >>> graph.parameters
    124439808
    >>> graph.fit("RTX 3090")["verdict"]
    'fits'

    Raises ImportError where torch is not installed, and plimsoll.Error for what cannot be recorded: code that looks at values of
    tensors, a loss that is no single number, a precision that does not go with the parameters.
    """
    import torch

    from .recorded.record_step import precision_of, record_step

    try:
        own = precision_of(model)
        wanted = precision or own
        if wanted != own and (own != "fp32" or wanted not in ("bf16-mixed", "fp16-mixed", "tf32")):
            raise ValueError(f"precision {wanted} does not go with parameters in {own}")
        step = record_step(model, batch, loss, wanted)
    except (ValueError, NotImplementedError, RuntimeError) as error:
        raise Error(f"the step cannot be recorded: {error}", remedy="docs/python.md says what from_torch can record") from error
    for operation in step["ops"]:
        for kernel in operation["kernels"]:
            if wanted == "tf32" and kernel["sort"] != "stream":
                kernel["dtype"] = _TF32.get(kernel["dtype"], kernel["dtype"])
    samples, tokens = _samples(batch)
    head = {"format": "plimsoll step graph", "format_version": 1, "name": name or type(model).__name__,
            "source": f"torch {torch.__version__} under fake tensors", "samples": samples, "tokens_per_sample": tokens,
            "precision": wanted}
    return StepGraph({**head, **step})
