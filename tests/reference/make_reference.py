#!/usr/bin/env python3
"""Makes tests/reference/data: tiny random models as transformers saves them, and what they compute.

  pip install torch transformers safetensors
  tests/reference/make_reference.py [NAME ...]

Each folder holds config.json and the weights in one of the types and layouts that people have, `logits.safetensors` (of the
corpus' first tokens, or of the first records and images) and `losses.json` (20 steps of AdamW). `optimizers` makes optimizers.json, 20 steps of GPT-2 by each
optimizer that PyTorch has. Arithmetic is in fp64 throughout: where transformers goes
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
VOCABULARY, SEQUENCE, BATCH, ACCUMULATE, STEPS, CORPUS, SEED, RECORDS = 64, 16, 2, 2, 20, 400, 7, 24
RATE, DECAY, BETAS, EPSILON, CLIP = 3e-3, 0.1, (0.9, 0.95), 1e-8, 1.0
SIZES = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
             max_position_embeddings=32, bos_token_id=1, eos_token_id=2)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)  # of eight frequencies one stays, one is mixed, six are divided
ENCODER = dict(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3,
               max_position_embeddings=32, hidden_dropout_prob=0, attention_probs_dropout_prob=0, pad_token_id=None)
IMAGES = dict(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=3, image_size=12, patch_size=4,
              num_channels=3, num_labels=5, hidden_dropout_prob=0, attention_probs_dropout_prob=0)
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
    "bert": (transformers.BertConfig(**ENCODER), torch.float32, "5GB"),
    "bert-classes": (transformers.BertConfig(**ENCODER, num_labels=3), torch.float32, "16KB"),
    "vit": (transformers.ViTConfig(**IMAGES), torch.float32, "5GB"),
}
AUTO = {"bert": transformers.AutoModelForMaskedLM, "bert-classes": transformers.AutoModelForSequenceClassification,
        "vit": transformers.AutoModelForImageClassification}
T5 = dict(vocab_size=VOCABULARY, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_heads=4, relative_attention_num_buckets=12,
          dropout_rate=0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
CASES["t5"] = (transformers.T5Config(**T5, num_decoder_layers=3), torch.bfloat16, "5GB")
CASES["t5-gated"] = (transformers.T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False), torch.bfloat16, "16KB")
AUTO |= {name: transformers.AutoModelForSeq2SeqLM for name in ("t5", "t5-gated")}
# With the first one a ReLU reads a number so near zero that the roundings of fp32 decide whether it passes a gradient on; of llama3
# a gradient is so near zero that they decide where AdamW moves its weight (20 losses 9e-5 to 5e-4 apart, with five others below 2e-6).
SEEDS = {"t5": 3, "llama3": 6}
TARGET = 10  # tokens that a decoder behind an encoder reads, of another length than the encoder's
MASK = VOCABULARY - 1
WORD = (1 << 64) - 1


def mix64(x):  # executor/data/counter_random.h
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def corpus():
    return torch.tensor([mix64(i) * VOCABULARY >> 64 for i in range(CORPUS)])


def random_at(key, place):
    return mix64(key ^ mix64(place))


def row_key(step, micro_batch, row):  # executor/data/row_key.h
    key = mix64(SEED)
    for part in (step, micro_batch, row):
        key = random_at(key, part)
    return key


def window(step, micro_batch, row, sequence=SEQUENCE):  # executor/data/window_start.cpp
    return row_key(step, micro_batch, row) * (CORPUS - sequence) >> 64


def source_and_target(rows):  # executor/data/source_and_target.cpp
    labels = rows[:, SEQUENCE:]
    start = torch.zeros_like(labels[:, :1])
    return {"input_ids": rows[:, :SEQUENCE], "decoder_input_ids": torch.cat([start, labels[:, :-1]], 1)}, labels


def hide_tokens(key, tokens):  # executor/data/hide_tokens.cpp
    tokens, labels = list(tokens), [-100] * len(tokens)
    unit = lambda word: (word >> 11) * 2.0 ** -53

    def hide(i):
        labels[i] = tokens[i]
        how = unit(random_at(key, 3 * i + 1))
        if how < 0.8:
            tokens[i] = MASK
        elif how < 0.9:
            tokens[i] = random_at(key, 3 * i + 2) * VOCABULARY >> 64

    hidden = [i for i in range(len(tokens)) if unit(random_at(key, 3 * i)) < 0.15]
    for i in hidden or [random_at(key, 3 * len(tokens)) * len(tokens) >> 64]:
        hide(i)
    return tokens, labels


def record_place(index, count):  # executor/data/record_order.cpp
    key = random_at(random_at(mix64(SEED), 0x73687566), index // count)
    place, half = index % count, 0
    while 1 << (2 * half) < count:
        half += 1
    while True:
        left, right = place >> half, place & ((1 << half) - 1)
        for turn in range(4):
            left, right = right, left ^ (random_at(key, (turn << 32) | right) & ((1 << half) - 1))
        place = (left << half) | right
        if place < count:
            return place


def rows_of(step, micro_batch, count):
    first = (step * ACCUMULATE + micro_batch) * BATCH
    return [record_place(first + row, count) for row in range(BATCH)]


def write_records(folder):
    """Sentences and pairs of several lengths."""
    lines = []
    for i in range(RECORDS):
        length = 4 + (mix64(1000 + i) * (SEQUENCE - 3) >> 64)
        tokens = [mix64(2000 + SEQUENCE * i + k) * VOCABULARY >> 64 for k in range(length)]
        record = {"tokens": tokens, "label": mix64(3000 + i) * 3 >> 64}
        if i % 2:
            record["types"] = [int(k >= length // 2) for k in range(length)]
        lines.append(json.dumps(record))
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")


def read_records(folder, indices):
    """What transformers' models take of these records, padded to the width of a batch."""
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    pad = lambda values: values + [0] * (SEQUENCE - len(values))
    ids = [pad(records[i]["tokens"]) for i in indices]
    types = [pad(records[i].get("types", [0])) for i in indices]
    mask = [pad([1] * len(records[i]["tokens"])) for i in indices]
    return ({"input_ids": torch.tensor(ids), "token_type_ids": torch.tensor(types), "attention_mask": torch.tensor(mask)},
            torch.tensor([records[i]["label"] for i in indices]))


def write_images(folder):
    """Records of a label and three planes of pixels, as CIFAR-10's binary files."""
    size = 3 * IMAGES["image_size"] ** 2
    records = [bytes([mix64(4000 + i) * 5 >> 64]) + bytes(mix64(5000 + size * i + k) & 255 for k in range(size))
               for i in range(RECORDS)]
    (folder / "images.bin").write_bytes(b"".join(records))


def read_images(folder, indices):
    side = IMAGES["image_size"]
    raw = (folder / "images.bin").read_bytes()
    size = 3 * side * side + 1
    records = [raw[i * size:(i + 1) * size] for i in indices]
    pixels = torch.tensor([list(r[1:]) for r in records], dtype=torch.float64).reshape(-1, 3, side, side)
    return {"pixel_values": (pixels / 255 - 0.5) / 0.5}, torch.tensor([r[0] for r in records])


def batch(name, folder, tokens, step, micro_batch):
    """Inputs and labels of one micro-batch."""
    if name == "bert":
        rows = []
        for row in range(BATCH):
            start = window(step, micro_batch, row)
            rows.append(hide_tokens(random_at(row_key(step, micro_batch, row), 0x6D61736B), tokens[start:start + SEQUENCE].tolist()))
        return {"input_ids": torch.tensor([r[0] for r in rows])}, torch.tensor([r[1] for r in rows])
    if name == "bert-classes":
        return read_records(folder, rows_of(step, micro_batch, RECORDS))
    if name == "vit":
        return read_images(folder, rows_of(step, micro_batch, RECORDS))
    if name in ("t5", "t5-gated"):
        both = SEQUENCE + TARGET
        starts = [window(step, micro_batch, row, both - 1) for row in range(BATCH)]
        return source_and_target(torch.stack([tokens[s:s + both] for s in starts]))
    rows = torch.stack([tokens[s:s + SEQUENCE + 1] for s in (window(step, micro_batch, r) for r in range(BATCH))])
    return {"input_ids": rows[:, :-1]}, rows[:, 1:]


def first_inputs(name, folder, tokens):
    """What the stored logits are of."""
    if name == "bert":  # two segments and three places of padding
        return {"input_ids": tokens[None, :SEQUENCE], "token_type_ids": torch.tensor([[0] * 6 + [1] * 7 + [0] * 3]),
                "attention_mask": torch.tensor([[1] * 13 + [0] * 3])}
    if name == "bert-classes":
        return read_records(folder, range(4))[0]
    if name == "vit":
        return read_images(folder, range(4))[0]
    if name in ("t5", "t5-gated"):
        return source_and_target(tokens[None, :SEQUENCE + TARGET])[0]
    return {"input_ids": tokens[None, :SEQUENCE]}


def fill(model, generator):
    """Weights large enough that every part of the model shows in its logits."""
    for name, weight in model.named_parameters():
        noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
        if name.endswith("Attention.q.weight"):  # of T5, whose scores have no factor
            value = noise / math.sqrt(weight.shape[-1] * model.config.d_kv)
        elif name == "shared.weight":  # whose logits have one
            value = noise
        elif weight.dim() > 1:
            value = noise * (0.4 if "embed" in name or "wte" in name else 2 / math.sqrt(weight.shape[-1]))
        else:
            value = 0.2 * noise + (1 if "norm" in name.lower() or "ln_" in name else 0) * (weight.detach()[0] != 0)
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


def adamw(groups):
    return torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)


class MuonBesideAdamW:
    """torch.optim.Muon of the blocks' matrices, of which Conv1D holds the transposed, and AdamW of all else."""

    def __init__(self, groups, lr):
        embeddings = (VOCABULARY, 32)  # rows of tokens and of positions
        self.hidden = [p for p in groups[0]["params"] if p.shape[0] not in embeddings]
        groups[0]["params"] = [p for p in groups[0]["params"] if p.shape[0] in embeddings]
        self.twins = [torch.nn.Parameter(p.detach().T.clone()) for p in self.hidden]
        self.muon = torch.optim.Muon(self.twins, lr=lr, weight_decay=DECAY)
        self.adamw = torch.optim.AdamW(groups, lr=lr, betas=BETAS)

    def zero_grad(self):
        for p in self.hidden:
            p.grad = None
        self.adamw.zero_grad()

    def step(self):
        for p, twin in zip(self.hidden, self.twins):
            twin.grad = p.grad.T.clone()
        self.muon.step()
        self.adamw.step()
        for p, twin in zip(self.hidden, self.twins):
            p.data.copy_(twin.detach().T)


OPTIMIZERS = {  # name: (what our recipe says of it, PyTorch's)
    "sgd": (dict(learning_rate=0.2), lambda g: torch.optim.SGD(g, lr=0.2)),
    "momentum": (dict(learning_rate=0.05, momentum=0.8), lambda g: torch.optim.SGD(g, lr=0.05, momentum=0.8)),
    "nesterov": (dict(learning_rate=0.05, momentum=0.8, nesterov=True),
                 lambda g: torch.optim.SGD(g, lr=0.05, momentum=0.8, nesterov=True)),
    "adam": (dict(learning_rate=3e-3), lambda g: torch.optim.Adam(g, lr=3e-3)),
    "adamw": (dict(learning_rate=3e-3), lambda g: torch.optim.AdamW(g, lr=3e-3, betas=BETAS)),
    "muon": (dict(learning_rate=0.01), lambda g: MuonBesideAdamW(g, lr=0.01)),
    "adafactor": (dict(learning_rate=0.05), lambda g: torch.optim.Adafactor(g, lr=0.05, eps=(2.0 ** -23, 1e-3))),
}


def losses(model, name, folder, tokens, make_optimizer=adamw):
    trained = [p for p in model.parameters() if p.requires_grad]
    decays = [p for p in trained if p.dim() > 1]
    others = [p for p in trained if p.dim() <= 1]
    optimizer = make_optimizer([{"params": decays, "weight_decay": DECAY}, {"params": others, "weight_decay": 0}])
    values = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = 0
        for micro_batch in range(ACCUMULATE):
            inputs, labels = batch(name, folder, tokens, step, micro_batch)
            made = model(**inputs)
            assert made.logits.dtype == torch.float64
            of_labels = torch.nn.functional.cross_entropy(made.logits.flatten(0, -2), labels.flatten()) / ACCUMULATE
            of_experts = auxiliary_loss(model, made) / ACCUMULATE
            (of_labels + of_experts).backward()
            loss += of_labels.detach()
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
    auto = AUTO.get(name, transformers.AutoModelForCausalLM)
    model = auto.from_config(config)
    if name == "t5-gated":  # T5 v1.1 has a head of its own
        model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone())
    fill(model, torch.Generator().manual_seed(SEEDS.get(name, 1)))
    model.to(stored).save_pretrained(folder, max_shard_size=shard)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name == "bert-classes":
        write_records(folder)
    if name == "vit":
        write_images(folder)
    model = auto.from_pretrained(folder, dtype=torch.float64, attn_implementation="eager").train()
    model.config._experts_implementation = "eager"  # the only one of a mixture's in fp64
    tokens = corpus()
    with fp32_means_fp64():
        widen_frequencies(model)
        with torch.no_grad():
            logits = model(**first_inputs(name, folder, tokens)).logits
        values = losses(model, name, folder, tokens)
    save_file({"logits": logits.float().flatten(0, -2)}, folder / "logits.safetensors")
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}"
    (folder / "losses.json").write_text(json.dumps({"made_by": made_by, "losses": values}, indent=1) + "\n")
    print(name, sum(p.numel() for p in model.parameters()), values[0], values[-1])


def make_optimizers():
    """Every optimizer that PyTorch has too, on the GPT-2 that is there."""
    cases = []
    for name, (numbers, make_optimizer) in OPTIMIZERS.items():
        model = transformers.AutoModelForCausalLM.from_pretrained(DATA / "gpt2", dtype=torch.float64,
                                                                  attn_implementation="eager").train()
        with fp32_means_fp64():
            values = losses(model, "gpt2", DATA / "gpt2", corpus(), make_optimizer)
        rule = "momentum" if name == "nesterov" else name
        cases.append({"optimizer": rule, **numbers, "losses": values})
        print(name, values[0], values[-1])
    made_by = f"torch {torch.__version__}, transformers {transformers.__version__}"
    (DATA / "optimizers.json").write_text(json.dumps({"made_by": made_by, "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or [*CASES, "optimizers"]:
        make_optimizers() if name == "optimizers" else make(name)
