"""Counts bytes that PyTorch's operations make while somebody holds them, on a CPU and for any kernel."""
import weakref

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from hidden_product import HiddenProduct


class Living(TorchDispatchMode):
    """Bytes of storages that operations made and that somebody still holds."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self.known = set()

    def count(self, tensor):
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.known:
            return
        self.known.add(key)
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self.gone, key, size)

    def gone(self, key, size):
        self.known.discard(key)
        self.live -= size

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if "_wrap_tensor" not in str(function):  # a name for what was counted when it was gathered
            for leaf in tree_leaves(result):
                if isinstance(leaf, torch.Tensor):
                    self.count(leaf)
        return result

    def peak_of(self, work, inputs=()):
        """What `work` returns, and the most bytes that lived meanwhile above those of before and of `inputs`."""
        with self, HiddenProduct():
            for tensor in inputs:
                self.count(tensor)
            start = self.peak = self.live
            result = work()
        return result, self.peak - start
