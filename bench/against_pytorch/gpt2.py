"""GPT-2 in PyTorch, as its users write it: fused attention, packed projections, a head tied to the token embedding."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.ln_1 = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.ln_2 = nn.LayerNorm(hidden)
        self.ffn_in = nn.Linear(hidden, 4 * hidden)
        self.ffn_out = nn.Linear(4 * hidden, hidden)

    def attend(self, x):
        rows, length, hidden = x.shape
        q, k, v = (part.view(rows, length, self.heads, hidden // self.heads).transpose(1, 2)
                   for part in self.qkv(x).split(hidden, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.projection(y.transpose(1, 2).reshape(rows, length, hidden))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.ffn_out(F.gelu(self.ffn_in(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, hidden, heads, vocabulary, positions):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(hidden)

    def forward(self, tokens):
        """Mean cross entropy of each token after the first; `tokens` is [rows, length + 1]."""
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        x = self.tokens(inputs) + self.positions.weight[: inputs.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))

    @torch.no_grad()
    def initialize(self, seed):
        """Normal weights of deviation 0.02, those into the residual stream smaller by √(2 · layers); biases 0."""
        generator = torch.Generator().manual_seed(seed)
        for name, weight in self.named_parameters():
            if weight.dim() < 2:
                continue
            into_residual = name.endswith(("projection.weight", "ffn_out.weight"))
            deviation = 0.02 / (math.sqrt(2 * len(self.blocks)) if into_residual else 1)
            weight.normal_(0, deviation, generator=generator)

    def hugging_face_tensors(self):
        """(name, parameter, whether the file holds it transposed) of every weight, as Hugging Face names them."""
        yield "transformer.wte.weight", self.tokens.weight, False
        yield "transformer.wpe.weight", self.positions.weight, False
        parts = {"ln_1": "ln_1", "attn.c_attn": "qkv", "attn.c_proj": "projection",
                 "ln_2": "ln_2", "mlp.c_fc": "ffn_in", "mlp.c_proj": "ffn_out"}
        for index, block in enumerate(self.blocks):
            for name, attribute in parts.items():
                module = getattr(block, attribute)
                transposed = isinstance(module, nn.Linear)
                yield f"transformer.h.{index}.{name}.weight", module.weight, transposed
                yield f"transformer.h.{index}.{name}.bias", module.bias, False
        yield "transformer.ln_f.weight", self.ln_f.weight, False
        yield "transformer.ln_f.bias", self.ln_f.bias, False
