#!/usr/bin/env python3
"""Makes tests/reference/data/*/mixed.json: what two-byte types do to the losses of 20 steps.

  pip install torch transformers safetensors
  tests/reference/make_mixed.py

`autocast_bf16` are the losses of transformers' model under torch.autocast, fp32 weights. `stored_bf16` and `stored_fp16` are those
of the model written out here, in fp32 arithmetic, with every value that docs/precision.md says is stored in two bytes rounded
where it says so, gradients too. fp16 runs under torch.amp.GradScaler from a scale that is far too high; `scales` holds the scale
of each step, `skipped` the steps that it left out, `losses` all losses.
"""
import json
import math

import torch
import transformers

from make_reference import ACCUMULATE, BATCH, BETAS, CLIP, DATA, DECAY, EPSILON, RATE, SEQUENCE, STEPS, corpus, window

SCALE, INTERVAL = 2.0**22, 4


class Store(torch.autograd.Function):
    """A tensor in two bytes: the value is rounded on its way forward, its gradient on its way back."""

    @staticmethod
    def forward(ctx, x, dtype):
        ctx.dtype = dtype
        return x.to(dtype).float()

    @staticmethod
    def backward(ctx, gradient):
        return gradient.to(ctx.dtype).float(), None


class Model:
    """A decoder as the graph has it: what a kernel writes is stored, what is inside a kernel is not."""

    def __init__(self, folder, dtype):
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        self.config, self.dtype = model.config, dtype
        self.weights = {n: torch.nn.Parameter(p.detach().clone()) for n, p in model.named_parameters()}

    def store(self, x):
        return Store.apply(x, self.dtype)

    def weight(self, name):
        return self.store(self.weights[name])

    def linear(self, x, name, transposed=False):
        w = self.weight(name + ".weight")
        y = x @ (w if transposed else w.T)
        return self.store(y + self.weight(name + ".bias") if name + ".bias" in self.weights else y)

    def attend(self, qkv, heads, kv_heads, dim, rotate):
        rows, length, _ = qkv.shape
        q, k, v = qkv.split([heads * dim, kv_heads * dim, kv_heads * dim], -1)
        q, k, v = (x.view(rows, length, -1, dim).transpose(1, 2) for x in (q, k, v))
        if rotate:
            q, k = (self.store(self.rotated(x)) for x in (q, k))
            v = self.store(v)
        k, v = (x.repeat_interleave(heads // kv_heads, 1) for x in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(dim)
        seen = torch.ones(length, length).tril().bool()
        return self.store((scores.masked_fill(~seen, -math.inf).softmax(-1) @ v).transpose(1, 2).reshape(rows, length, -1))

    def rotated(self, x):
        half = x.shape[-1] // 2
        angles = torch.outer(torch.arange(x.shape[-2]).double(), 10000.0 ** (-torch.arange(half).double() / half))
        cos, sin = angles.cos().float(), angles.sin().float()
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def gpt2(self, tokens):
        c, norm = self.config, torch.nn.functional.layer_norm
        n = lambda x, name: self.store(norm(x, x.shape[-1:], self.weight(name + ".weight"), self.weight(name + ".bias"), 1e-5))
        x = self.store(self.weight("transformer.wte.weight")[tokens] + self.weight("transformer.wpe.weight")[: tokens.shape[1]])
        for i in range(c.n_layer):
            h = f"transformer.h.{i}."
            qkv = self.linear(n(x, h + "ln_1"), h + "attn.c_attn", True)
            y = self.attend(qkv, c.n_head, c.n_head, c.n_embd // c.n_head, False)
            x = self.store(x + self.linear(y, h + "attn.c_proj", True))
            y = self.linear(n(x, h + "ln_2"), h + "mlp.c_fc", True)
            y = self.store(torch.nn.functional.gelu(y, approximate="tanh"))
            x = self.store(x + self.linear(y, h + "mlp.c_proj", True))
        return self.store(n(x, "transformer.ln_f") @ self.weight("transformer.wte.weight").T)

    def llama(self, tokens):
        c = self.config
        n = lambda x, name: self.store(x * (x.pow(2).mean(-1, True) + c.rms_norm_eps).rsqrt() * self.weight(name + ".weight"))
        x = self.store(self.weight("model.embed_tokens.weight")[tokens])
        dim = c.hidden_size // c.num_attention_heads
        for i in range(c.num_hidden_layers):
            h = f"model.layers.{i}."
            a = n(x, h + "input_layernorm")
            qkv = torch.cat([self.linear(a, h + f"self_attn.{p}_proj") for p in "qkv"], -1)
            y = self.attend(qkv, c.num_attention_heads, c.num_key_value_heads, dim, True)
            x = self.store(x + self.linear(y, h + "self_attn.o_proj"))
            a = n(x, h + "post_attention_layernorm")
            gate, up = (self.linear(a, h + f"mlp.{p}_proj") for p in ("gate", "up"))
            x = self.store(x + self.linear(self.store(torch.nn.functional.silu(gate) * up), h + "mlp.down_proj"))
        return self.store(n(x, "model.norm") @ self.weight("lm_head.weight").T)

    def __call__(self, tokens):
        return self.gpt2(tokens) if self.config.model_type == "gpt2" else self.llama(tokens)


def train(logits_of, weights, scaler):
    optimizer = torch.optim.AdamW([{"params": [p for p in weights if p.dim() > 1], "weight_decay": DECAY},
                                   {"params": [p for p in weights if p.dim() <= 1], "weight_decay": 0}],
                                  lr=RATE, betas=BETAS, eps=EPSILON)
    tokens, losses, scales, skipped = corpus(), [], [], []
    for step in range(STEPS):
        optimizer.zero_grad()
        scales.append(scaler.get_scale())
        total = 0.0
        for m in range(ACCUMULATE):
            rows = torch.stack([tokens[s:s + SEQUENCE + 1] for s in (window(step, m, r) for r in range(BATCH))])
            loss = torch.nn.functional.cross_entropy(logits_of(rows[:, :-1]).float().flatten(0, 1), rows[:, 1:].flatten())
            scaler.scale(loss / ACCUMULATE).backward()
            total += loss.item() / ACCUMULATE
        losses.append(total)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(weights, CLIP)
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < scales[-1]:
            skipped.append(step)
    return losses, scales, skipped


def plain():
    return torch.amp.GradScaler("cpu", enabled=False)


def make(name):
    folder = DATA / name
    automatic = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").train()

    def autocast(tokens):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return automatic(tokens).logits

    made = {"made_by": f"torch {torch.__version__}, transformers {transformers.__version__}",
            "autocast_bf16": train(autocast, list(automatic.parameters()), plain())[0]}
    stored = Model(folder, torch.bfloat16)
    made["stored_bf16"] = train(stored, list(stored.weights.values()), plain())[0]
    stored = Model(folder, torch.float16)
    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE, growth_interval=INTERVAL)
    losses, scales, skipped = train(stored, list(stored.weights.values()), scaler)
    made["stored_fp16"] = {"start": SCALE, "interval": INTERVAL, "losses": losses, "scales": scales, "skipped": skipped}
    (folder / "mixed.json").write_text(json.dumps(made, indent=1) + "\n")
    print(name, made["autocast_bf16"][-1], made["stored_bf16"][-1], losses[-1], scales, skipped)


for case in ("gpt2", "llama"):
    make(case)
