#!/usr/bin/env python3
"""Makes tests/reference/data: tiny random models as transformers saves them, and what they compute.

  pip install torch transformers safetensors
  tests/reference/make_reference.py [NAME ...]

Each folder holds config.json and the weights in one of the types and layouts that people have, `logits.safetensors` (of the
corpus' first tokens) and `losses.json` (20 steps of AdamW). Arithmetic is in fp64 throughout: where transformers goes
through fp32 (RMSNorm, softmax, rotary angles), it is made to go through fp64.
"""
import contextlib
import json
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

DATA = pathlib.Path(__file__).parent / "data"
VOCABULARY, SEQUENCE, BATCH, ACCUMULATE, STEPS, CORPUS, SEED = 64, 16, 2, 2, 20, 400, 7
RATE, DECAY, BETAS, EPSILON, CLIP = 3e-3, 0.1, (0.9, 0.95), 1e-8, 1.0
SIZES = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, bos_token_id=1, eos_token_id=2)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)  # of eight frequencies one stays, one is mixed, six are divided
CASES = {  # name: (configuration, type of the stored weights, largest shard)
    "gpt2": (transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=24, n_layer=2, n_head=3, attn_pdrop=0,
                                     embd_pdrop=0, resid_pdrop=0, bos_token_id=1, eos_token_id=2), torch.float32, "5GB"),
    "llama": (transformers.LlamaConfig(**SIZES, num_key_value_heads=2), torch.bfloat16, "16KB"),
    "llama3": (transformers.LlamaConfig(**SIZES | {"max_position_embeddings": 128}, num_key_value_heads=1, head_dim=16,
                                        tie_word_embeddings=True, rope_parameters=LLAMA3), torch.float16, "5GB"),
    "mistral": (transformers.MistralConfig(**SIZES, num_key_value_heads=2, sliding_window=SEQUENCE), torch.bfloat16, "5GB"),
    "qwen2": (transformers.Qwen2Config(**SIZES, num_key_value_heads=2), torch.bfloat16, "5GB"),
    "qwen3": (transformers.Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True),
              torch.bfloat16, "5GB"),
    "gemma": (transformers.GemmaConfig(**SIZES, num_key_value_heads=1, head_dim=16, pad_token_id=None), torch.bfloat16, "5GB"),
    "phi": (transformers.PhiConfig(**SIZES), torch.bfloat16, "5GB"),
    "mixtral": (transformers.MixtralConfig(**SIZES, num_key_value_heads=2, num_local_experts=4, num_experts_per_tok=2,
                                           output_router_logits=True, router_aux_loss_coef=0.05), torch.bfloat16, "5GB"),
}
WORD = (1 << 64) - 1


def mix64(x):  # executor/data/counter_random.h
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def corpus():
    return torch.tensor([mix64(i) * VOCABULARY >> 64 for i in range(CORPUS)])


def window(step, micro_batch, row):  # executor/data/window_start.cpp
    key = mix64(SEED)
    for part in (step, micro_batch, row):
        key = mix64(key ^ mix64(part))
    return key * (CORPUS - SEQUENCE) >> 64


def fill(model, generator):
    """Weights large enough that every part of the model shows in its logits."""
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        if weight.dim() > 1:
            value = noise * (0.4 if "embed" in name or "wte" in name else 2 / math.sqrt(weight.shape[-1]))
        else:
            value = 0.2 * noise + (1 if "norm" in name or "ln_" in name else 0) * (weight.detach()[0] != 0)
        weight.data = value


@contextlib.contextmanager
def fp32_means_fp64():
    names = {name: getattr(torch, name) for name in ("float32", "float")}
    to_float = torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    yield
    torch.Tensor.float = to_float
    for name, value in names.items():
        setattr(torch, name, value)


def widen_frequencies(model):
    """Rotary frequencies are computed when a model is made, in fp32; here once more, within fp32_means_fp64."""
    rotary = getattr(model.base_model, "rotary_emb", None)
    if rotary is None:
        return
    kind = rotary.rope_type
    init = rotary.compute_default_rope_parameters if kind == "default" else ROPE_INIT_FUNCTIONS[kind]
    rotary.inv_freq, rotary.attention_scaling = init(model.config, device="cpu")
    assert rotary.inv_freq.dtype == torch.float64


def auxiliary_loss(model, made):
    """Of a mixture of experts, for the tokens of one micro-batch; 0 for other models."""
    aux = getattr(made, "aux_loss", None)
    return 0 if aux is None else model.config.router_aux_loss_coef * aux


def losses(model, tokens):
    trained = [p for p in model.parameters() if p.requires_grad]
    decays = [p for p in trained if p.dim() > 1]
    others = [p for p in trained if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decays, "weight_decay": DECAY}, {"params": others, "weight_decay": 0}],
                                  lr=RATE, betas=BETAS, eps=EPSILON)
    values = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = 0
        for m in range(ACCUMULATE):
            rows = torch.stack([tokens[s:s + SEQUENCE + 1] for s in (window(step, m, r) for r in range(BATCH))])
            made = model(rows[:, :-1])
            assert made.logits.dtype == torch.float64
            of_tokens = torch.nn.functional.cross_entropy(made.logits.flatten(0, 1), rows[:, 1:].flatten()) / ACCUMULATE
            of_experts = auxiliary_loss(model, made) / ACCUMULATE
            (of_tokens + of_experts).backward()
            loss += of_tokens.detach()
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in trained))
        for p in trained:
            p.grad *= min(1.0, CLIP / norm.item())
        optimizer.step()
        values.append(loss.item())
    return values


def make(name):
    config, stored, shard = CASES[name]
    config._attn_implementation = "eager"
    folder = DATA / name
    model = transformers.AutoModelForCausalLM.from_config(config)
    fill(model, torch.Generator().manual_seed(1))
    model.to(stored).save_pretrained(folder, max_shard_size=shard)
    (folder / "generation_config.json").unlink(missing_ok=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").train()
    model.config._experts_implementation = "eager"  # the only one of a mixture's in fp64
    tokens = corpus()
    with fp32_means_fp64():
        widen_frequencies(model)
        with torch.no_grad():
            logits = model(tokens[None, :SEQUENCE]).logits[0]
        values = losses(model, tokens)
    save_file({"logits": logits.float()}, folder / "logits.safetensors")
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}"
    (folder / "losses.json").write_text(json.dumps({"made_by": made_by, "losses": values}, indent=1) + "\n")
    print(name, sum(p.numel() for p in model.parameters()), values[0], values[-1])


if __name__ == "__main__":
    for name in sys.argv[1:] or CASES:
        make(name)
