"""Seconds of one compiled PyTorch training step of GPT-2 124M: bf16 autocast, batch 8, 1024 tokens, fused AdamW, clipping."""
import json
import time

import torch
from torch import nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, VOCABULARY, TOKENS, BATCH = 12, 768, 12, 50257, 1024, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.into, self.out = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (part.view(b, t, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, WIDTH)
        x = x + self.projection(y)
        return x + self.out(F.gelu(self.into(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(TOKENS, WIDTH)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(TOKENS, device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def main():
    torch.manual_seed(1)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    compiled = torch.compile(model)
    ids = torch.randint(0, VOCABULARY, (BATCH, TOKENS + 1), device="cuda")
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
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "step_seconds": median,
                      "tokens_per_second": BATCH * TOKENS / median, "peak_bytes": torch.cuda.max_memory_allocated()}))


if __name__ == "__main__":
    main()
