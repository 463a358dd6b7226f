"""Fills in data/null_gpu_more.csv: what QLoRA, small optimizers and transformers' Trainer request of PyTorch's CUDA allocator.

As make_null_gpu_peaks.py, whose functions it uses, with the bitsandbytes package, whose CUDA library runs on the GPU that computes nothing. Column
`program`: loop (that script's loop) or trainer (transformers.Trainer). A case is one process, so that nothing of one
is left for the next:

    python3 null_gpu/build_null_gpu.py FOLDER
    LD_LIBRARY_PATH=FOLDER LD_PRELOAD=FOLDER/libnull_gpu.so TORCH_CUBLAS_WORKSPACE_CACHE=1 python3 make_null_gpu_more.py CASE
"""
import csv
import json
import pathlib
import sys

import bitsandbytes as bnb
import make_null_gpu_peaks as peaks
import peft
import torch
import transformers

TABLE = pathlib.Path(__file__).parent / "data/null_gpu_more.csv"
NARROW = {"bf16": torch.bfloat16, "bf16-mixed": torch.bfloat16, "fp16-mixed": torch.float16}


def encoded_layer(layer, said, dtype):
    double = said.get("double-quant", "yes") == "yes"
    shape = (layer.in_features, layer.out_features, layer.bias is not None)
    if said["base-bits"] == "4":
        made = bnb.nn.Linear4bit(*shape, dtype, compress_statistics=double, quant_type="nf4", device="meta")
        made.weight = bnb.nn.Params4bit(layer.weight.data, requires_grad=False, compress_statistics=double, quant_type="nf4", module=made)._quantize("cuda")
    else:
        made = bnb.nn.Linear8bitLt(*shape, has_fp16_weights=False, threshold=6.0, device="meta")
        codes, scales, _ = bnb.functional.int8_vectorwise_quant(layer.weight.data.half())
        made.weight = bnb.nn.Int8Params(codes, requires_grad=False, has_fp16_weights=False)
        made.weight.CB, made.weight.SCB = codes, scales
    if layer.bias is not None:
        made.bias = torch.nn.Parameter(layer.bias.data, requires_grad=False)
    return made


def encode(model, said):
    """As transformers' from_pretrained with a BitsAndBytesConfig leaves it."""
    four, dtype, head = said["base-bits"] == "4", NARROW[said["precision"]], model.get_output_embeddings()
    for name, layer in list(model.named_modules()):
        if type(layer) is torch.nn.Linear and layer is not head:
            model.set_submodule(name, encoded_layer(layer, said, dtype))
    config = transformers.BitsAndBytesConfig(load_in_4bit=four, load_in_8bit=not four, bnb_4bit_compute_dtype=dtype, bnb_4bit_quant_type="nf4")
    model.hf_quantizer = transformers.quantizers.auto.AutoHfQuantizer.from_config(config)
    model.config.quantization_config, model.quantization_method, model.is_quantized = config, config.quant_method, True
    setattr(model, "is_loaded_in_4bit" if four else "is_loaded_in_8bit", True)


def model_of(config, said):
    if "base-bits" not in said:
        return peaks.model_of(config, said)
    recompute = said.get("recompute") == "full"
    torch.set_default_dtype(NARROW[said["precision"]])
    with torch.device("cuda"):
        model = getattr(transformers, config.architectures[0])._from_config(config, attn_implementation=said.get("attention", "sdpa"))
    torch.set_default_dtype(torch.float32)
    encode(model, said)
    if said.get("kbit-preparation", "yes") == "yes":
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=recompute, gradient_checkpointing_kwargs={"use_reentrant": False})
    elif recompute:
        model.gradient_checkpointing_enable()
    model = peaks.adapted(model, config, said)
    if recompute:
        model.enable_input_require_grads()
    return model.train()


class BesideMuon:
    def __init__(self, model, parameters):
        hidden = [parameter for name, parameter in model.named_parameters() if parameter.ndim == 2 and ".layers." in name]
        rest = {id(parameter) for parameter in parameters} - {id(parameter) for parameter in hidden}
        self.both = torch.optim.Muon(hidden, lr=1e-4), torch.optim.AdamW([p for p in parameters if id(p) in rest], lr=1e-4, foreach=True)

    def step(self):
        [one.step() for one in self.both]

    def zero_grad(self, set_to_none):
        [one.zero_grad(set_to_none) for one in self.both]


def optimizer_of(model, parameters, said):
    name, paged = said.get("optimizer", "adamw"), "paged-states" in said
    if name == "adam8bit":
        return (bnb.optim.PagedAdamW8bit if paged else bnb.optim.AdamW8bit)(parameters, lr=1e-4)
    if name == "muon":
        return BesideMuon(model, parameters)
    if name == "lion":
        return (bnb.optim.PagedLion if paged else bnb.optim.Lion)(parameters, lr=1e-4)
    return bnb.optim.PagedAdamW32bit(parameters, lr=1e-4) if paged else peaks.optimizer_of(parameters, said)


def update_in_backward(parameters, said):
    own = {parameter: optimizer_of(None, [parameter], said) for parameter in parameters}

    def update(parameter):
        own[parameter].step()
        own[parameter].zero_grad(set_to_none=True)

    for parameter in parameters:
        parameter.register_post_accumulate_grad_hook(update)


def loop(config, said):
    model = model_of(config, said)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    early = "update-in-backward" in said
    update_in_backward(parameters, said) if early else None
    optimizer = None if early else optimizer_of(model, parameters, said)
    mixed = said["precision"].endswith("mixed") or said.get("autocast") == "yes"
    scaler = torch.amp.GradScaler("cuda", enabled=said["precision"] == "fp16-mixed")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        for _ in range(int(said.get("accumulate", 1))):
            batch = peaks.batch_of(config, said)
            with torch.autocast("cuda", dtype=NARROW.get(said["precision"], torch.bfloat16), enabled=mixed):
                loss = model(**batch).loss
            scaler.scale(loss).backward()
            del loss, batch
        if early:
            continue
        scaler.unscale_(optimizer) if scaler.is_enabled() else None
        if float(said.get("clip", 1)):
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        scaler.step(optimizer) if scaler.is_enabled() else optimizer.step()
        scaler.update()
        optimizer.zero_grad(set_to_none=True)


class Texts(torch.utils.data.Dataset):
    def __init__(self, length):
        self.text = {"input_ids": [0] * length, "labels": [0] * length}

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return self.text


class FromHere(transformers.TrainerCallback):
    def on_train_begin(self, *args, **kwargs):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def trainer(config, said):
    name = said.get("optimizer", "adamw")
    kind = {"adamw": "adamw_torch_fused" if said.get("optimizer-loop") == "fused" else "adamw_torch", "adam8bit": "adamw_8bit"}.get(name, name)
    kind = "paged_adamw_8bit" if "paged-states" in said else kind
    mixed = said["precision"] == "bf16-mixed" or said.get("autocast") == "yes"
    asked = transformers.TrainingArguments("unused", per_device_train_batch_size=int(said["batch"]), max_steps=3, bf16=mixed, optim=kind, report_to="none",
                                           gradient_accumulation_steps=int(said.get("accumulate", 1)), fp16=said["precision"] == "fp16-mixed",
                                           gradient_checkpointing=said.get("recompute") == "full", save_strategy="no", disable_tqdm=True)
    transformers.Trainer(model_of(config, said), asked, train_dataset=Texts(int(said["seq"])), data_collator=transformers.default_data_collator,
                         callbacks=[FromHere()]).train()


def main(case):
    rows = list(csv.DictReader(TABLE.open()))
    for row in rows:
        if row["case"] != case:
            continue
        fields, said = json.loads(row["config"]), peaks.options_of(row["options"])
        config = transformers.CONFIG_MAPPING[fields.pop("model_type")](**fields, use_cache=False)
        {"loop": loop, "trainer": trainer}[row["program"]](config, said)
        of = torch.cuda.memory_stats()
        row["requested"] = of["requested_bytes.all.peak"]
        row["origin"] = (f"torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}, peft {peft.__version__}, "
                         f"bitsandbytes {bnb.__version__}")
        print(row["case"], row["requested"], file=sys.stderr)
    writer = csv.DictWriter(TABLE.open("w", newline=""), rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1])
