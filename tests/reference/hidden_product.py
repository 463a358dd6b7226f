"""What CUDA's kernels make and no operator shows to a tracker of tensors."""
import torch
from torch.utils._python_dispatch import TorchDispatchMode


class HiddenProduct(TorchDispatchMode):
    """Softmax's backward on CUDA multiplies gradient and result before it sums rows (SoftMax.cu, softmax_backward_cuda_out): a tensor that
    lives while the result is made. Entered last, so that a tracker sees it."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        hidden = function is torch.ops.aten._softmax_backward_data.default
        product = torch.mul(args[0], args[1]) if hidden else None
        result = function(*args, **(kwargs or {}))
        del product
        return result
