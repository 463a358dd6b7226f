"""Fills in data/null_gpu_peaks.csv: the most bytes that a training step of transformers requests of PyTorch's CUDA allocator.

The table states each case by its config.json and by the options of `plimsoll fit` that say how it trains; this script trains it so for
three steps over a GPU that computes nothing (null_gpu/), and writes what torch.cuda.memory_stats() says. cuBLAS keeps its workspaces
(TORCH_CUBLAS_WORKSPACE_CACHE=1, as PyTorch before 2.15 did). Needs torch with CUDA, transformers and peft:

    python3 null_gpu/build_null_gpu.py FOLDER
    LD_LIBRARY_PATH=FOLDER LD_PRELOAD=FOLDER/libnull_gpu.so TORCH_CUBLAS_WORKSPACE_CACHE=1 python3 make_null_gpu_peaks.py [CASE ...]
"""
import csv
import json
import pathlib
import shlex
import sys

import peft
import torch
import transformers

TABLE = pathlib.Path(__file__).parent / "data/null_gpu_peaks.csv"
# Reads that decide by values, answered as texts without packing and padding do.
transformers.masking_utils.find_packed_sequence_indices = lambda position_ids: None
TARGETS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj", "gate": "gate_proj", "up": "up_proj", "down": "down_proj"}


def options_of(text):
    said, words = {}, shlex.split(text)
    while words:
        name = words.pop(0)
        said[name[2:]] = words.pop(0) if words and not words[0].startswith("--") else True
    return said


def convolution(x, weight, padding, stride, dilation, groups, *rest):
    """cuDNN's, of which nothing is asked but the result's shape."""
    sizes = [(x.shape[i + 2] + 2 * padding[i] - dilation[i] * (weight.shape[i + 2] - 1) - 1) // stride[i] + 1 for i in range(2)]
    return torch.empty((x.shape[0], weight.shape[0], *sizes), device=x.device, dtype=x.dtype)


def convolution_backward(gradient, x, weight, bias, *rest):
    wanted = rest[-1]
    made = [torch.empty_like(x), torch.empty_like(weight), torch.empty(weight.shape[0], device=x.device, dtype=x.dtype)]
    return tuple(tensor if want else None for tensor, want in zip(made, wanted))


def adapted(model, config, said):
    rank, _, targets = said["lora"].partition(":")
    names = {**TARGETS, "qkv": "c_attn" if config.model_type == "gpt2" else "qkv_proj"}
    modules = [names[word] for word in targets.split(",")] if targets else "all-linear"
    also = {"embed": "embed_tokens", "head": "lm_head"}
    made = peft.LoraConfig(r=int(rank), target_modules=modules, lora_dropout=float(said.get("lora-dropout", 0)), use_dora="dora" in said,
                           modules_to_save=[also[word] for word in said["train-also"].split(",")] if "train-also" in said else None)
    return peft.get_peft_model(model, made)


def optimizer_of(parameters, said):
    loop, name = said.get("optimizer-loop", "foreach"), said.get("optimizer", "adamw")
    how = {"foreach": {"foreach": True}, "fused": {"fused": True}, "for-loop": {"foreach": False}}[loop]
    if name == "adafactor" and loop == "for-loop":
        return transformers.optimization.Adafactor(parameters, lr=1e-4, relative_step=False)
    return {"adamw": lambda: torch.optim.AdamW(parameters, lr=1e-4, **how), "adafactor": lambda: torch.optim.Adafactor(parameters, lr=1e-4, **how),
            "sgd": lambda: torch.optim.SGD(parameters, lr=1e-4, **how),
            "momentum": lambda: torch.optim.SGD(parameters, lr=1e-4, momentum=0.9, **how)}[name]()


def model_of(config, said):
    two_bytes = said["precision"] == "bf16" or "lora" in said and said["precision"] != "fp32"
    kind = getattr(transformers, config.architectures[0])
    more = {"experts_implementation": "grouped_mm"} if "grouped-experts" in said else {}
    torch.set_default_dtype(torch.bfloat16 if two_bytes else torch.float32)
    with torch.device("cuda"):
        model = kind._from_config(config, attn_implementation=said.get("attention", "sdpa"), **more)
    torch.set_default_dtype(torch.float32)
    if said.get("recompute") == "full":
        model.gradient_checkpointing_enable()
    if "lora" in said:
        model = adapted(model, config, said)
        if said.get("recompute") == "full":
            model.enable_input_require_grads()
    return model.train()


def batch_of(config, said):
    batch, zeros = int(said["batch"]), lambda *shape: torch.zeros(*shape, dtype=torch.long, device="cuda")
    if config.model_type == "vit":
        dtype = torch.bfloat16 if said["precision"] == "bf16" else torch.float32
        return {"pixel_values": torch.empty(batch, 3, config.image_size, config.image_size, device="cuda", dtype=dtype), "labels": zeros(batch)}
    length = int(said["seq"])
    labels = zeros(batch) if "classes" in said else zeros(batch, int(said.get("target-seq", length)))
    return {"input_ids": zeros(batch, length), "labels": labels}


def peak_of(config, said):
    model = model_of(config, said)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = optimizer_of(parameters, said)
    mixed = said["precision"] == "bf16-mixed" or said.get("autocast") == "yes"
    for _ in range(3):
        batch = batch_of(config, said)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mixed):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        del loss, batch
    return torch.cuda.memory_stats()["requested_bytes.all.peak"]


def main(wanted):
    library = torch.library.Library("aten", "IMPL")
    library.impl("cudnn_convolution", convolution, "CUDA")
    library.impl("convolution_backward", convolution_backward, "CUDA")
    rows = list(csv.DictReader(TABLE.open()))
    for row in rows:
        if wanted and row["case"] not in wanted:
            continue
        fields, said = json.loads(row["config"]), options_of(row["options"])
        if "classes" in said:
            fields["num_labels"] = int(said["classes"])
        config = transformers.CONFIG_MAPPING[fields.pop("model_type")](**fields, use_cache=False)
        torch.cuda.reset_peak_memory_stats()
        row["requested"] = peak_of(config, said)
        row["origin"] = f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, peft {peft.__version__}"
        print(row["case"], row["requested"], file=sys.stderr)
        torch.cuda.empty_cache()
    writer = csv.DictWriter(TABLE.open("w", newline=""), rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
