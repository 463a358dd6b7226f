"""The order of a step: operations, and which memory comes and goes between them."""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from .kernels import kernels_of, tensors_in


class StepRecorder(TorchDispatchMode):
    """Lists the aten operations that run while it is entered. A storage has a number from the operation that makes it on;
    before every operation those that nobody holds any more are listed as freed by the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: list[int] = []  # bytes, by number
        self.ops: list[dict[str, Any]] = []
        self.phase = "forward"
        self.place = ""
        self.depth = 0  # modules that are running; in backward they run again
        self.place_of_node: dict[int, str] = {}  # by the number that autograd gives its nodes
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def number_of(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's storage, a new one where it is not known."""
        storage = tensor.untyped_storage()
        known = self._alive.get(storage._cdata)
        if known is not None and not known[0].expired():
            return known[1]
        number = len(self.storages)
        self.storages.append(storage.nbytes())
        self._alive[storage._cdata] = (StorageWeakRef(storage), number)
        return number

    def note_deaths(self) -> None:
        """Lists what died since the last operation with that operation."""
        dead = [key for key, (storage, _) in self._alive.items() if storage.expired()]
        numbers = [self._alive.pop(key)[1] for key in dead]
        if numbers and self.ops:
            self.ops[-1]["frees"].extend(numbers)

    def note_gradient(self, parameter: str, gradient: torch.Tensor) -> None:
        """From the last operation on, that memory is the parameter's gradient."""
        self.ops[-1].setdefault("gradients", {})[parameter] = self.number_of(gradient)

    def alive(self) -> set[int]:
        """Numbers of all storages that somebody holds."""
        self.note_deaths()
        return {number for _, number in self._alive.values()}

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        self.note_deaths()
        kwargs = kwargs or {}
        if self.phase == "forward":
            self.place_of_node[torch._C._autograd._get_sequence_nr() - 1] = self.place
        out = func(*args, **kwargs)
        first = len(self.storages)
        reads = sorted({self.number_of(tensor) for tensor in tensors_in(args) + tensors_in(kwargs)})
        read = len(self.storages)  # what was not known before belongs to nobody: constants
        for tensor in tensors_in(out):
            self.number_of(tensor)
        makes = list(range(first, len(self.storages)))
        kernels = kernels_of(func, args, kwargs, out, len(self.storages) > read)
        if kernels or makes or not self.ops:  # else a view
            self._keep(func, reads, makes, kernels)
        return out

    def _keep(self, func: Any, reads: list[int], makes: list[int], kernels: list[dict[str, Any]]) -> None:
        again = {"again": True} if self.phase == "backward" and self.depth > 0 else {}
        self.ops.append({**again, "op": func._overloadpacket.__name__, "phase": self.phase, "at": self.place, "reads": reads,
                         "makes": makes, "frees": [], "kernels": kernels})
