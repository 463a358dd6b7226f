"""Seconds of one compiled PyTorch training step: bf16 autocast, fused AdamW, clipping. Of GPT-2 124M, or of some layers of a larger
model, as tests/gpu/layer_checks.cpp has them. Usage: torch_step.py [gpt2|gpt2-xl|llama-3-8b]"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

SHAPES = {  # layers, width, heads, heads of keys and values, width between, vocabulary, tokens, batch
    "gpt2": (12, 768, 12, 12, 3072, 50257, 1024, 8),
    "gpt2-xl": (12, 1600, 25, 25, 6400, 50257, 1024, 4),
    "llama-3-8b": (4, 4096, 32, 8, 14336, 32000, 2048, 2),
}


def rotated(x, cosine, sine):
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, between, llama):
        super().__init__()
        self.heads, self.kv_heads, self.dim, self.llama = heads, kv_heads, width // heads, llama
        norm = nn.RMSNorm if llama else nn.LayerNorm
        self.norm1, self.norm2 = norm(width), norm(width)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.dim, bias=not llama)
        self.projection = nn.Linear(width, width, bias=not llama)
        self.into = nn.Linear(width, (2 if llama else 1) * between, bias=not llama)
        self.out = nn.Linear(between, width, bias=not llama)

    def forward(self, x, cosine, sine):
        b, t, width = x.shape
        parts = self.qkv(self.norm1(x)).split([self.heads * self.dim, self.kv_heads * self.dim, self.kv_heads * self.dim], dim=2)
        q, k, v = (part.view(b, t, -1, self.dim).transpose(1, 2) for part in parts)
        if self.llama:
            q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
        x = x + self.projection(y.transpose(1, 2).reshape(b, t, width))
        h = self.into(self.norm2(x))
        if not self.llama:
            return x + self.out(F.gelu(h, approximate="tanh"))
        gate, value = h.chunk(2, dim=-1)
        return x + self.out(F.silu(gate) * value)


class Model(nn.Module):
    def __init__(self, llama, layers, width, heads, kv_heads, between, vocabulary, tokens):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = None if llama else nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, between, llama) for _ in range(layers))
        self.norm = nn.RMSNorm(width) if llama else nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if not llama:
            self.head.weight = self.tokens.weight
        angles = torch.outer(torch.arange(tokens), 500000.0 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, ids, targets):
        x = self.tokens(ids)
        if self.positions is not None:
            x = x + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x, self.cosine, self.sine)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


def main():
    name = sys.argv[1] if len(sys.argv) > 1 else "gpt2"
    layers, width, heads, kv_heads, between, vocabulary, tokens, batch = SHAPES[name]
    torch.manual_seed(1)
    with torch.device("cuda"):
        model = Model(name.startswith("llama"), layers, width, heads, kv_heads, between, vocabulary, tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)
    ids = torch.randint(0, vocabulary, (batch, tokens + 1), device="cuda")
    seconds = []
    for _ in range(30):
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = compiled(ids[:, :-1], ids[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    median = sorted(seconds[10:])[10]
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "model": name, "step_seconds": median,
                      "tokens_per_second": batch * tokens / median, "peak_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
