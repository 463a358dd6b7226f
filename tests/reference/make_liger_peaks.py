"""Peaks of eager training steps with Liger's kernels, as PyTorch's own memory tracker counts them, for data/liger_peaks.csv.

Models of transformers, patched by liger-kernel itself, are trained under FakeTensorMode: nothing is computed and its kernels are not
launched, but what its functions allocate, keep and overwrite, autograd, the optimizer and Python's references are the real ones.
Tensors count as a GPU's where the library asks for one before it writes products in place; the head's gradient takes the way of a
GPU before compute capability 8.0, and a norm's partial gradients that of one multiprocessor. Needs torch, transformers, peft and
liger-kernel:

    python3 make_liger_peaks.py > data/liger_peaks.csv
"""
import csv
import importlib.metadata
import sys

import torch
import transformers as hf
import triton.runtime.autotuner
import triton.runtime.jit
from torch._subclasses.fake_tensor import FakeTensorMode

from tracked_step import TYPES, peak_of


class Unlaunched:
    def __call__(self, *arguments, **options):
        return None


for kind in (triton.runtime.jit.JITFunction, triton.runtime.autotuner.Autotuner, triton.runtime.autotuner.Heuristics):
    kind.__getitem__ = lambda self, grid: Unlaunched()

import liger_kernel.ops.fused_linear_cross_entropy as fused_loss  # noqa: E402
from liger_kernel.transformers import monkey_patch  # noqa: E402


def writes_in_place(x, weight):
    if torch.is_grad_enabled() or x.dtype != weight.dtype:
        return False
    return not torch.is_autocast_enabled("cpu") or x.dtype == torch.get_autocast_dtype("cpu")


fused_loss._can_use_mm_out = writes_in_place
# Numbers that the loss asks for: how many labels count, and whether its gradient is one.
torch.Tensor.item = lambda self: 1
torch.equal = lambda a, b: False

SIZES = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 4,
         "vocab_size": 32000, "attn_implementation": "eager", "use_cache": False, "tie_word_embeddings": False}
TEXT = "layers=4,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=32000"

MODELS = {
    "llama:" + TEXT: lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SIZES)),
    "mistral:" + TEXT: lambda: hf.MistralForCausalLM(hf.MistralConfig(**SIZES, sliding_window=None)),
    "qwen2:" + TEXT + ",tied=false": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**SIZES)),
    "qwen3:" + TEXT + ",head_dim=64,tied=false": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**SIZES, head_dim=64)),
    "gemma:" + TEXT + ",head_dim=64": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**{**SIZES, "tie_word_embeddings": True}, head_dim=64)),
    "phi3:" + TEXT: lambda: hf.Phi3ForCausalLM(hf.Phi3Config(**SIZES, pad_token_id=0)),
}

# model, batch, sequence, precision, recompute, lora
LLAMA, MISTRAL, QWEN2, QWEN3, GEMMA, PHI3 = MODELS
CASES = [(LLAMA, 4, 1024, "bf16", "none", ""), (LLAMA, 4, 1024, "bf16", "full", ""), (LLAMA, 4, 1024, "fp32", "none", ""),
         (LLAMA, 4, 1024, "bf16-mixed", "none", ""), (LLAMA, 4, 1024, "bf16-mixed", "full", ""), (LLAMA, 8, 1024, "bf16", "none", "16:all"),
         (LLAMA, 8, 1024, "bf16-mixed", "full", "16:all"), (LLAMA, 3, 1000, "bf16", "none", ""), (MISTRAL, 4, 1024, "bf16", "none", ""),
         (QWEN2, 4, 1024, "bf16", "none", ""), (QWEN3, 4, 1024, "bf16", "none", ""), (QWEN3, 4, 1024, "bf16-mixed", "full", ""),
         (GEMMA, 4, 1024, "bf16", "none", ""), (PHI3, 4, 1024, "bf16", "none", "")]


def adapted(net):
    import peft
    move, torch.nn.Module.to = torch.nn.Module.to, lambda self, *a, **k: self  # fake tensors cannot be moved
    names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    made = peft.get_peft_model(net, peft.LoraConfig(r=16, target_modules=names), autocast_adapter_dtype=False)
    torch.nn.Module.to = move
    return made


def peak(model, size, sequence, precision, recompute, lora):
    with FakeTensorMode(allow_non_fake_inputs=True):
        torch.set_default_dtype(torch.bfloat16 if lora else TYPES.get(precision, torch.float32))
        net = MODELS[model]()
        torch.set_default_dtype(torch.float32)
        monkey_patch._apply_liger_kernel_to_instance(model=net)
        if lora:
            net = adapted(net)
        return peak_of(net, lambda: {name: torch.zeros(size, sequence, dtype=torch.long) for name in ("input_ids", "labels")},
                       precision == "bf16-mixed", recompute, lora)


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["model", "batch", "sequence", "precision", "recompute", "lora", "peak_mib", "origin"])
    for case in CASES:
        origin = (f"torch {torch.__version__.split('+')[0]}, transformers {hf.__version__}, "
                  f"liger-kernel {importlib.metadata.version('liger-kernel')}")
        writer.writerow([*case, f"{peak(*case):.2f}", origin])
        sys.stdout.flush()
