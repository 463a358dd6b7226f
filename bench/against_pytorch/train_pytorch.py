"""Trains GPT-2 with PyTorch for some steps and prints what each took and gave, as JSON."""

import argparse
import json
import time

import torch

from gpt2 import Gpt2
from safetensors_file import read_tensors
from token_windows import read_batches


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--job", required=True, help="JSON: shape, batch, length, steps, threads, numbers")
    parser.add_argument("--optimizer", choices=["foreach", "fused", "loop"], default="fused")
    parser.add_argument("--keep-gradients", action="store_true", help="zero the gradients instead of freeing them")
    return parser.parse_args()


def load(model, path):
    tensors = read_tensors(path)
    with torch.no_grad():
        for name, weight, transposed in model.hugging_face_tensors():
            weight.copy_(tensors[name].T if transposed else tensors[name])


def make_optimizer(model, numbers, kind):
    """Matrices and embeddings decay, norms and biases do not."""
    weights = list(model.parameters())
    groups = [{"params": [w for w in weights if w.dim() >= 2], "weight_decay": numbers["weight_decay"]},
              {"params": [w for w in weights if w.dim() < 2], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=numbers["lr"], betas=tuple(numbers["betas"]), eps=numbers["eps"],
                             foreach=kind == "foreach", fused=kind == "fused")


def train(options, job):
    torch.set_num_threads(job["threads"])
    model = Gpt2(**job["shape"])
    load(model, options.weights)
    optimizer = make_optimizer(model, job["numbers"], options.optimizer)
    seconds, losses = [], []
    for batch in read_batches(options.corpus, job["seed"], job["steps"], job["batch"], job["length"]):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=not options.keep_gradients)
        loss = model(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), job["numbers"]["clip"], foreach=True)
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds, "losses": losses, "torch": torch.__version__}


if __name__ == "__main__":
    options = arguments()
    print(json.dumps(train(options, json.loads(options.job))))
