"""The batches that plimsoll draws from a token file, drawn again: both programs then see the same tokens."""

import array
import random

import torch

WORD = (1 << 64) - 1


def mix(x):
    """The finalizer of SplitMix64."""
    x = (x + 0x9E3779B97F4A7C15) & WORD
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    return x ^ (x >> 31)


def window_start(seed, step, row, corpus_tokens, length):
    key = mix(seed)
    for place in (step, 0, row):  # 0: the only micro-batch
        key = mix(key ^ mix(place))
    return (key * (corpus_tokens - length)) >> 64


def write_corpus(path, count, vocabulary, seed):
    """`count` random tokens of 2 bytes."""
    generator = random.Random(seed)
    array.array("H", (generator.randrange(vocabulary) for _ in range(count))).tofile(open(path, "wb"))


def read_batches(path, seed, steps, rows, length):
    """One [rows, length + 1] tensor a step."""
    corpus = array.array("H", open(path, "rb").read())
    for step in range(steps):
        starts = [window_start(seed, step, row, len(corpus), length) for row in range(rows)]
        yield torch.tensor([corpus[start : start + length + 1].tolist() for start in starts])
