"""Peaks of training what PEFT puts beside a frozen model, for data/adapter_peaks.csv.

Small models are trained for two steps on the CPU. All storages that operations make are counted from their birth until the last
reference to them goes; the peak is that of the second step. Dropout and powers are those of CUDA, and a base of 4 bits the stand-in
of make_eager_peaks.py. Adapters have the types that PEFT gives them: fp32, and the model's own where it copies whole modules.
Needs torch, transformers and peft:

    python3 make_adapter_peaks.py > data/adapter_peaks.csv
"""
import csv
import sys
import weakref

import peft
import peft.tuners.lora.dora
import peft.tuners.lora.layer
import torch
import transformers as hf
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

import make_eager_peaks as eager

MODELS = {
    "llama:layers=2,hidden=256,heads=4,kv_heads=2,ffn=704,vocab=1000": lambda tied: hf.LlamaForCausalLM(hf.LlamaConfig(
        hidden_size=256, intermediate_size=704, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=1000,
        tie_word_embeddings=tied, **eager.EAGER)),
    "neox:layers=2,hidden=256,heads=4,ffn=1024,vocab=1000": lambda tied: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(
        hidden_size=256, intermediate_size=1024, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000, tie_word_embeddings=tied,
        **eager.EAGER)),
}
LLAMA, NEOX = MODELS
MATRICES = {LLAMA: ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
            NEOX: ["query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h"]}
NORMS = {LLAMA: ["input_layernorm", "post_attention_layernorm", "norm"],
         NEOX: ["input_layernorm", "post_attention_layernorm", "final_layer_norm"]}
ENDS = {LLAMA: {"embed": "embed_tokens", "head": "lm_head"}, NEOX: {"embed": "embed_in", "head": "embed_out"}}


def config(model, method, rank, train_also, dropout):
    matrices = MATRICES[model]
    saved = [ENDS[model][end] for end in train_also.split(",")] if train_also else None
    if method == "adalora":
        return peft.AdaLoraConfig(init_r=rank, target_modules=matrices, lora_dropout=dropout, total_step=1000, task_type="CAUSAL_LM")
    if method == "vera":
        return peft.VeraConfig(r=rank, target_modules=matrices, vera_dropout=dropout)
    if method == "loha":
        return peft.LoHaConfig(r=rank, target_modules=matrices)
    if method == "lokr":
        return peft.LoKrConfig(r=rank, target_modules=matrices)
    if method == "ia3":
        return peft.IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"])
    if method == "norms":
        return peft.LNTuningConfig(target_modules=NORMS[model])
    if method == "bias":
        return peft.BeftConfig(target_modules=["v_proj"])
    if method == "prompt":
        return peft.PromptTuningConfig(num_virtual_tokens=rank, task_type="CAUSAL_LM")
    return peft.LoraConfig(r=rank, target_modules=matrices, lora_dropout=dropout, use_dora=method == "dora", modules_to_save=saved)


def adapted(model, method, rank, train_also, tied, dropout, bits, prepared, kind):
    torch.set_default_dtype(kind)
    base = MODELS[model](tied == "tied")
    torch.set_default_dtype(torch.float32)
    peft.tuners.lora.layer.Linear.forward = beside_encoded if bits else BESIDE
    peft.tuners.lora.dora.dequantize_module_weight = decoded
    if bits:
        eager.encode(base)
    if prepared == "yes":
        base = peft.prepare_model_for_kbit_training(base, use_gradient_checkpointing=False)
    for module in base.modules():  # PEFT asks every layer beside which it stands for its weight's type
        if isinstance(module, eager.Encoded):
            module.weight = torch.nn.Parameter(module.weight.data, requires_grad=False)
    net = peft.get_peft_model(base, config(model, method, rank, train_also, dropout))
    for name, parameter in net.named_parameters():
        if "ranknum" in name:  # PEFT makes it without a gradient; its cast to fp32 forgets that
            parameter.requires_grad_(False)
    return net


BESIDE = peft.tuners.lora.layer.Linear.forward


def decoded(layer):
    return torch.zeros(layer.out_features, layer.in_features, dtype=layer.compute) if isinstance(layer, eager.Encoded) else layer.weight


def beside_encoded(self, x):
    """As PEFT's layer beside one of 4 bits: a copy of the result, and conversions outside autocast alone."""
    result = self.base_layer(x).clone()
    alone = not torch.is_autocast_enabled("cpu")
    kind = result.dtype
    low = x.to(self.lora_A["default"].weight.dtype) if alone else x
    if "default" in self.lora_variant:
        result = self.lora_variant["default"].forward(self, active_adapter="default", x=low, result=result)
        return result.to(kind) if alone else result
    added = self.lora_B["default"](self.lora_A["default"](self.lora_dropout["default"](low))) * self.scaling["default"]
    return result + (added.to(kind) if alone else added)


class Storages(TorchDispatchMode):
    """Bytes of all storages that are alive, and the most that there were."""

    def __init__(self, tensors):
        super().__init__()
        self.alive, self.now, self.peak = {}, 0, 0
        for tensor in tensors:
            self.see(tensor)

    def see(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.alive:
            return
        size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        self.alive[key] = weakref.finalize(storage, self.gone, key, size)

    def gone(self, key, size):
        del self.alive[key]
        self.now -= size

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for made in tree_iter(result):
            if isinstance(made, torch.Tensor):
                self.see(made)
        return result


def measure(model, method, rank, train_also, tied, batch, sequence, precision, recompute, dropout, bits, prepared):
    kind = torch.float32 if precision == "fp32" else torch.bfloat16
    net = adapted(model, method, rank, train_also, tied, dropout or 0.0, bits, prepared, kind)
    net.train()
    if recompute == "full":
        net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
        if method != "prompt":  # whose rows ask for gradients themselves
            net.enable_input_require_grads()
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, foreach=True)
    storages = Storages([*net.parameters(), *net.buffers()])
    for _ in range(2):
        storages.peak = storages.now
        with storages:
            tokens = torch.zeros(batch, sequence, dtype=torch.long)
            labels = torch.zeros(batch, sequence, dtype=torch.long)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16-mixed"):
                result = net(input_ids=tokens, labels=labels)
            loss = result.loss
            del result
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            del loss, tokens, labels
    return sum(p.numel() for p in trained), storages.peak


# model, method, rank, what is trained also, whether the head is tied, batch, sequence, precision, recompute, dropout, bits of the base,
# whether PEFT prepared it
LONG, SHORT = (8, 128), (1, 32)
TYPES = [("bf16", "none"), ("bf16-mixed", "none"), ("bf16-mixed", "full"), ("fp32", "none")]
CASES = [
    *[(LLAMA, "lora", 8, also, tied, *size, *kind, "", "", "") for also in ("embed", "head", "embed,head") for tied in ("", "tied")
      for size, kind in [(LONG, TYPES[0]), (LONG, TYPES[2]), (SHORT, TYPES[1])]],
    *[(LLAMA, method, rank, "", "", *size, *kind, "", "", "")
      for method, rank in [("lora", 8), ("dora", 8), ("adalora", 8), ("vera", 32), ("loha", 4), ("lokr", 4), ("ia3", 1), ("norms", 1), ("bias", 1),
                           ("prompt", 16)]
      for size in (LONG, SHORT) for kind in TYPES],
    *[(NEOX, method, rank, "", "", *LONG, *TYPES[0], "", "", "") for method, rank in [("lora", 8), ("dora", 8), ("vera", 32), ("norms", 1)]],
    *[(LLAMA, method, 8, "", "", *LONG, *kind, 0.1, "", "") for method in ("dora", "adalora", "vera") for kind in TYPES[:2]],
    *[(LLAMA, "dora", 8, "", "", *size, *kind, dropout, 4, prepared) for size in (LONG, SHORT) for kind in TYPES[:3:2]
      for prepared in ("no", "yes") for dropout in ("", 0.1)],
    *[(LLAMA, "lora", 8, "embed,head", "", *LONG, *kind, "", 4, prepared) for kind in TYPES[:3:2] for prepared in ("no", "yes")],
]

if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["model", "method", "rank", "train_also", "head", "batch", "sequence", "precision", "recompute", "lora_dropout", "base_bits",
                     "prepared", "trained", "peak_bytes", "origin"])
    origin = f"torch {torch.__version__.split('+')[0]}, transformers {hf.__version__}, peft {peft.__version__}"
    for case in CASES:
        writer.writerow([*case, *measure(*case), origin])
        sys.stdout.flush()
