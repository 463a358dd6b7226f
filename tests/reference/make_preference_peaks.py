"""Peaks of training steps on preferences under PyTorch, for data/preference_peaks.csv.

TRL's trainers compute the loss (DPOTrainer._compute_loss and KTOTrainer._compute_loss themselves, in an object that nothing else was
prepared of); models are transformers', adapters PEFT's. TRL's kernels, which write into what they are given, are left out, and so are
the products that they add into sums in fp32 (on a GPU neither makes a tensor). Each model's forward pass is an autocast region of its own,
as accelerate wraps it. Peaks are of the second step, in MiB: all storages that
somebody holds (living.py). Needs torch, transformers, peft and trl:

    python3 make_preference_peaks.py > data/preference_peaks.csv
"""
import collections
import csv
import sys
import types

import torch
import transformers as hf
import trl
from trl.kernels import chunked_logprob as fused
from trl.trainer import utils as trainer_utils
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.kto_trainer import KTOTrainer

from living import Living

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
EAGER = {"attn_implementation": "eager", "use_cache": False}
NAMES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
OUTPUTS = {"dpo": ("log_probs", "entropy", "mean_logits", "is_top1"), "kto": ("log_probs", "entropy", "mean_logits")}
MODELS = {
    "llama:layers=4,hidden=512,heads=8,kv_heads=4,ffn=1408,vocab=8000":
        lambda: hf.LlamaForCausalLM(hf.LlamaConfig(hidden_size=512, intermediate_size=1408, num_hidden_layers=4, num_attention_heads=8,
                                                   num_key_value_heads=4, vocab_size=8000, **EAGER)),
    "gpt:layers=4,hidden=768,heads=12,vocab=50257,positions=1024": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(n_layer=4, **EAGER)),
}
LLAMA, GPT = MODELS

# model, samples of a micro-batch, tokens, precision, recompute, rank of LoRA, method, reference
CASES = [(model, 2, 512, precision, recompute, lora, method, reference)
         for model, precision, recompute, lora, method, reference in [
             (LLAMA, "bf16", "full", "", "dpo", ""), (LLAMA, "bf16", "none", "", "dpo", ""), (LLAMA, "bf16", "none", "", "dpo", "precomputed"),
             (LLAMA, "bf16-mixed", "full", "", "dpo", ""), (LLAMA, "fp32", "none", "", "dpo", ""), (LLAMA, "bf16", "full", "16", "dpo", ""),
             (LLAMA, "bf16", "none", "16", "dpo", ""), (LLAMA, "bf16-mixed", "none", "16", "dpo", ""), (LLAMA, "bf16", "none", "16", "dpo", "precomputed"),
             (LLAMA, "bf16", "full", "", "kto", ""), (LLAMA, "bf16-mixed", "none", "", "kto", ""), (LLAMA, "bf16", "none", "16", "kto", ""),
             (GPT, "bf16", "none", "", "dpo", ""), (GPT, "bf16-mixed", "full", "", "dpo", "")]]


def leave_kernels_out():
    class Nothing:
        def __getitem__(self, grid):
            return lambda *_, **__: None

    fused._forward_kernel = fused._backward_kernel = Nothing()
    fused._use_triton = trainer_utils._use_triton = lambda _: True
    fused._addmm_fp32 = lambda *_: None
    fused.triton = type("Triton", (), {"cdiv": staticmethod(lambda a, b: -(-a // b))})


def alone():
    """What a trainer asks of accelerate, in a process by itself."""
    return types.SimpleNamespace(device=torch.device("cpu"), gather=lambda x: x, gather_for_metrics=lambda x: x, unwrap_model=lambda x: x)


def trainer_of(kind, model, reference, precomputed):
    made = kind.__new__(kind)
    made.__dict__.update(
        model=model, ref_model=reference, accelerator=alone(), args=types.SimpleNamespace(gradient_checkpointing=True, gradient_checkpointing_kwargs=None),
        aux_loss_enabled=False, ld_alpha=None, precompute_ref_logps=precomputed, f_divergence_type="reverse_kl", loss_types=["sigmoid"], loss_weights=[1.0],
        beta=0.1, label_smoothing=0.0, use_weighting=False, _metrics={"train": collections.defaultdict(list)}, _total_train_tokens=0, _tp_size=1,
        calculate_KL=True, loss_type="kto", desirable_weight=1.0, undesirable_weight=1.0)
    return made


def tokens_of(sequences, length, prefix=""):
    shape = (sequences, length)
    return {f"{prefix}input_ids": torch.zeros(shape, dtype=torch.long), f"{prefix}attention_mask": torch.ones(shape, dtype=torch.long),
            f"{prefix}completion_mask": torch.ones(shape, dtype=torch.long)}


def batch_of(method, samples, length, precomputed):
    if method == "dpo":
        batch = tokens_of(2 * samples, length)
        known = ("ref_chosen_logps", "ref_rejected_logps")
    else:
        batch = {**tokens_of(samples, length), **tokens_of(samples, length, "KL_"), "label": torch.tensor([i % 2 == 0 for i in range(samples)])}
        known = ("ref_logps", "ref_KL_logps")
    return {**batch, **({name: torch.zeros(samples) for name in known} if precomputed else {})}


def adapted(model, rank):
    import peft
    return peft.get_peft_model(model, peft.LoraConfig(r=rank, target_modules=NAMES, lora_dropout=0.0))


def built(model, precision, lora):
    torch.set_default_dtype(torch.bfloat16 if lora else TYPES.get(precision, torch.float32))
    net = MODELS[model]()
    torch.set_default_dtype(torch.float32)
    for module in net.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return net


def with_fused_head(net, outputs, mixed):
    trainer_utils.add_fused_lm_head(net, outputs=outputs)
    if mixed:
        net.forward = torch.autocast("cpu", dtype=torch.bfloat16)(net.forward)
    return net


def peak(model, samples, length, precision, recompute, lora, method, reference):
    mixed, precomputed = precision == "bf16-mixed", reference == "precomputed"
    base = with_fused_head(built(model, precision, lora), OUTPUTS[method], mixed)
    net = adapted(base, int(lora)) if lora else base
    copy = None
    if not lora and not precomputed:
        copy = with_fused_head(built(model, precision, lora), ("log_probs",), mixed).eval().requires_grad_(False)
    net.train()
    if recompute == "full":
        net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if lora:
            net.enable_input_require_grads()
    trainer = trainer_of(DPOTrainer if method == "dpo" else KTOTrainer, net, copy, precomputed)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], foreach=True)

    def step():
        trainer._compute_loss(net, batch_of(method, samples, length, precomputed), False).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()
    states = [value for state in optimizer.state.values() for value in state.values()]
    held = [*net.parameters(), *net.buffers(), *(copy.parameters() if copy else []), *states]
    living = Living()
    _, above = living.peak_of(step, held)
    return (above + sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in held}.values())) / 2**20


if __name__ == "__main__":
    leave_kernels_out()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["model", "batch", "sequence", "precision", "recompute", "lora", "method", "reference", "peak_mib", "origin"])
    for case in CASES:
        writer.writerow([*case, f"{peak(*case):.2f}", f"torch {torch.__version__.split('+')[0]}, transformers {hf.__version__}, trl {trl.__version__}"])
        sys.stdout.flush()
