"""Peaks of eager training steps as PyTorch's own memory tracker counts them, for data/eager_peaks.csv.

Models of transformers are built and trained for two steps under FakeTensorMode: nothing is computed, but autograd, the
optimizer and Python's references are the real ones. Peaks are the tracker's, in MiB, in the second step; dropout is the
operation that CUDA has (a mask of one byte an element). A base of 4 bits is a stand-in with the codes' bytes, decoded before each
product as Dettmers et al. (2023) have it, which takes no part in autocast and answers in its input's type; what PEFT's
prepare_model_for_kbit_training makes of the rest is PEFT's own doing. Needs torch, transformers and peft:

    python3 make_eager_peaks.py > data/eager_peaks.csv
"""
import csv
import sys

import torch
import torch.nn.functional
import transformers as hf
from torch._subclasses.fake_tensor import FakeTensorMode

from tracked_step import TYPES, peak_of

torch.nn.functional.dropout = (
    lambda x, p=0.5, training=True, inplace=False: torch.native_dropout(x, p, training)[0] if training and p > 0 else x)

# CUDA's autocast has powers on its list of fp32 operators; the CPU's has not, and fake CUDA tensors go through no backward pass
# where no GPU is.
plain_power = torch.pow
torch.pow = lambda x, exponent: plain_power(x.float() if torch.is_autocast_enabled("cpu") else x, exponent)

EAGER = {"attn_implementation": "eager", "use_cache": False}


def llama(words=8000):
    return hf.LlamaForCausalLM(hf.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=4, num_attention_heads=16,
                                              num_key_value_heads=4, vocab_size=words, **EAGER))


class Decoded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, codes, shape):
        ctx.codes, ctx.weight_shape = codes, shape
        return x @ torch.empty(shape, dtype=x.dtype).t()

    @staticmethod
    def backward(ctx, gradient):
        return gradient @ torch.empty(ctx.weight_shape, dtype=gradient.dtype), None, None


class Encoded(torch.nn.Linear):
    def __init__(self, plain, compute):
        torch.nn.Module.__init__(self)
        self.in_features, self.out_features, self.compute, self.bias = plain.in_features, plain.out_features, compute, None
        blocks = -(-plain.weight.numel() // 64)  # of nf4: a mean, a factor for 256 scales, the scales, the codes
        self.register_buffer("weight", torch.empty(4 + 4 * -(-blocks // 256) + blocks + plain.weight.numel() // 2, dtype=torch.uint8))

    def forward(self, x):
        kind = x.dtype
        x = x.to(self.compute)
        with torch.autocast("cpu", enabled=False):
            return Decoded.apply(x, self.weight, (self.out_features, self.in_features)).to(kind)


def beside_encoded(self, x):
    """What an adapter adds to a layer of 4 bits: PEFT copies the layer's result, and converts types outside autocast alone."""
    result = self.base_layer(x).clone()
    alone = not torch.is_autocast_enabled("cpu")
    low = self.lora_dropout["default"](x.to(self.lora_A["default"].weight.dtype) if alone else x)
    added = self.lora_B["default"](self.lora_A["default"](low)) * self.scaling["default"]
    return result + (added.to(result.dtype) if alone else added)


def encode(base):
    base.is_loaded_in_4bit = True
    for module in list(base.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and name != "lm_head":
                setattr(module, name, Encoded(child, torch.bfloat16))


def adapted(words, bits="", prepared="", dropout=0.0):
    import peft
    import peft.tuners.lora.layer
    torch.set_default_dtype(torch.bfloat16)
    base = llama(words)
    torch.set_default_dtype(torch.float32)
    if bits:
        encode(base)
        peft.tuners.lora.layer.Linear.forward = beside_encoded
    if prepared == "yes":
        base = peft.prepare_model_for_kbit_training(base, use_gradient_checkpointing=False)
    move, torch.nn.Module.to = torch.nn.Module.to, lambda self, *a, **k: self  # fake tensors cannot be moved
    names = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    model = peft.get_peft_model(base, peft.LoraConfig(r=16, target_modules=names, lora_dropout=dropout), autocast_adapter_dtype=False)
    torch.nn.Module.to = move
    return model


MODELS = {
    "gpt:layers=4,hidden=768,heads=12,vocab=50257,positions=1024":
        lambda: hf.GPT2LMHeadModel(hf.GPT2Config(n_layer=4, **EAGER)),
    "llama:layers=4,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=8000": llama,
    "qwen3:layers=4,hidden=1024,heads=16,kv_heads=4,head_dim=64,ffn=2816,vocab=8000,tied=false":
        lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(hidden_size=1024, intermediate_size=2816, num_hidden_layers=4, num_attention_heads=16,
                                                   num_key_value_heads=4, head_dim=64, vocab_size=8000, tie_word_embeddings=False, **EAGER)),
    "opt:layers=4,hidden=768,heads=12,ffn=3072,vocab=8000,positions=2050":
        lambda: hf.OPTForCausalLM(hf.OPTConfig(hidden_size=768, ffn_dim=3072, num_hidden_layers=4, num_attention_heads=12, vocab_size=8000,
                                               word_embed_proj_dim=768, **EAGER)),
    "neox:layers=4,hidden=768,heads=12,ffn=3072,vocab=8000":
        lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(hidden_size=768, intermediate_size=3072, num_hidden_layers=4,
                                                       num_attention_heads=12, vocab_size=8000, **EAGER)),
    "bloom:layers=4,hidden=768,heads=12,ffn=3072,vocab=8000":
        lambda: hf.BloomForCausalLM(hf.BloomConfig(hidden_size=768, n_layer=4, n_head=12, vocab_size=8000, **EAGER)),
    "t5:layers=4,hidden=512,heads=8,head_dim=64,ffn=2048,vocab=32128":
        lambda: hf.T5ForConditionalGeneration(hf.T5Config(d_model=512, d_kv=64, d_ff=2048, num_layers=4, num_decoder_layers=4, num_heads=8,
                                                          decoder_start_token_id=0, pad_token_id=0, tie_word_embeddings=True, **EAGER)),
    # So few words that the peak is within a block's second run, not at the loss.
    "llama:layers=4,hidden=1024,heads=16,kv_heads=4,ffn=2816,vocab=500": lambda: llama(500),
}

# model, batch, sequence, precision, recompute, lora, tokens of a decoder's own where they are not as many, bits of a frozen base,
# whether PEFT prepared it, and dropout of what adapters read; those with stand-ins of layers come last
CASES = [(list(MODELS)[0], 4, 1024, "fp32", "none", ""), (list(MODELS)[0], 2, 1024, "bf16-mixed", "none", ""),
         (list(MODELS)[0], 2, 1024, "bf16-mixed", "full", ""), (list(MODELS)[1], 8, 1024, "bf16", "none", ""),
         (list(MODELS)[1], 8, 1024, "fp32", "full", ""), (list(MODELS)[1], 8, 1024, "bf16", "none", "16:all"),
         (list(MODELS)[2], 8, 1024, "bf16", "none", ""), (list(MODELS)[3], 8, 512, "fp32", "none", ""),
         (list(MODELS)[4], 8, 512, "fp32", "none", ""), (list(MODELS)[5], 8, 512, "fp32", "none", ""),
         (list(MODELS)[6], 4, 256, "fp32", "none", ""),
         (list(MODELS)[6], 8, 512, "fp32", "none", "", 96), (list(MODELS)[6], 8, 128, "fp32", "none", "", 384),
         (list(MODELS)[1], 8, 1024, "bf16", "none", "16:all", "", "", "", 0.1),
         (list(MODELS)[1], 8, 1024, "bf16", "full", ""), (list(MODELS)[1], 8, 1024, "bf16", "full", "16:all"),
         (list(MODELS)[1], 8, 1024, "bf16-mixed", "full", "16:all"),
         *[(list(MODELS)[1], 8, 1024, precision, recompute, "16:all", "", 4, prepared, dropout)
           for precision, recompute, prepared, dropout in [
               ("bf16-mixed", "none", "no", ""), ("bf16", "none", "no", ""), ("bf16-mixed", "none", "yes", ""),
               ("bf16", "none", "yes", ""), ("bf16-mixed", "none", "no", 0.1), ("bf16-mixed", "none", "yes", 0.1),
               *[(precision, "full", prepared, dropout) for precision in ("bf16", "bf16-mixed") for prepared in ("no", "yes")
                 for dropout in ("", 0.1)]]],
         *[(list(MODELS)[7], 8, 256, "bf16", recompute, "") for recompute in ("full", "none")],
         *[(list(MODELS)[7], 8, 256, precision, "full", "16:all", "", 4, prepared, dropout)
           for precision, prepared, dropout in [("bf16", "no", ""), ("bf16", "yes", ""), ("bf16-mixed", "no", ""), ("bf16-mixed", "yes", ""),
                                                ("bf16-mixed", "yes", 0.1)]]]


def batch(model, size, sequence, target):
    tokens = torch.zeros(size, sequence, dtype=torch.long)
    return {"input_ids": tokens, "labels": torch.zeros(size, target or sequence, dtype=torch.long)}


def peak(model, size, sequence, precision, recompute, lora, target="", bits="", prepared="", dropout=""):
    with FakeTensorMode(allow_non_fake_inputs=True):
        torch.set_default_dtype(TYPES.get(precision, torch.float32) if not lora else torch.float32)
        net = adapted(500 if model.endswith("vocab=500") else 8000, bits, prepared, dropout or 0.0) if lora else MODELS[model]()
        torch.set_default_dtype(torch.float32)
        return peak_of(net, lambda: batch(model, size, sequence, target), precision == "bf16-mixed", recompute, lora)


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["model", "batch", "sequence", "precision", "recompute", "lora", "target", "base_bits", "prepared", "lora_dropout",
                     "peak_mib", "origin"])
    for case in CASES:
        origin = f"torch {torch.__version__.split('+')[0]}, transformers {hf.__version__}"
        writer.writerow([*case, *[""] * (10 - len(case)), f"{peak(*case):.2f}", origin])
