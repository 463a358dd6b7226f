"""Fills in data/null_gpu_ranks.csv: the most bytes that a rank of several requests of PyTorch's CUDA allocator in a training step.

The table states each case by its config.json, by the options of `plimsoll fit` that say how it trains, and by what those do not say (`way`).
One process is rank 0 of a group that sends nothing (torch's "fake" backend), over a GPU that computes nothing (null_gpu/); it trains three
steps, and torch.cuda.memory_stats() says what it held. DDP's ranks are one of gloo's, whose buckets are as large. cuBLAS keeps its workspaces (TORCH_CUBLAS_WORKSPACE_CACHE=1). Ways:

    ddp       DistributedDataParallel (views: gradient_as_bucket_view, static: static_graph)
    fsdp1     FullyShardedDataParallel, a unit a block, as accelerate wraps transformers' models (flat: without use_orig_params)
    fsdp2     fully_shard of every block and of the model (ends: of the embedding and of norm and head, too; fp32: reduces in it)
    zero      deepspeed.initialize (hf: bucket sizes as transformers' Trainer has "auto")

Needs torch with CUDA, transformers, peft, and for some cases torchtune and deepspeed (DS_BUILD_OPS=0):

    python3 null_gpu/build_null_gpu.py FOLDER
    LD_LIBRARY_PATH=FOLDER LD_PRELOAD=FOLDER/libnull_gpu.so TORCH_CUBLAS_WORKSPACE_CACHE=1 python3 make_null_gpu_ranks.py [CASE ...]
"""
import contextlib
import csv
import functools
import importlib.metadata
import json
import multiprocessing
import os
import pathlib
import sys

import torch
import torch.distributed as dist
import transformers
from torch.testing._internal.distributed.fake_pg import FakeStore

import peft.tuners.lora.torchao

from make_null_gpu_peaks import adapted, batch_of, optimizer_of, options_of

TABLE = pathlib.Path(__file__).parent / "data/null_gpu_ranks.csv"
BF16 = torch.bfloat16
peft.tuners.lora.torchao.is_torchao_available = lambda: False  # torchtune wants an older one than PEFT reads


def transformer_of(config, said, halves):
    """On the CPU and without values, as a launcher's ranks have it before it is shared out."""
    kind = getattr(transformers, config.architectures[0])
    torch.set_default_dtype(BF16 if halves else torch.float32)
    with torch.device("meta"):
        model = kind._from_config(config, attn_implementation=said.get("attention", "sdpa"))
    torch.set_default_dtype(torch.float32)
    model = model.to_empty(device="cpu")
    model.tie_weights()
    if said.get("recompute") == "full":
        model.gradient_checkpointing_enable()
    if "lora" in said:
        model = adapted(model, config, said)
        if said.get("recompute") == "full":
            model.enable_input_require_grads()
    return model.train()


def torchtune_of(config, said, halves):
    from torchtune.models.llama3 import llama3
    from torchtune.modules import TransformerSelfAttentionLayer
    from torchtune.training import set_activation_checkpointing
    torch.set_default_dtype(BF16 if halves else torch.float32)
    with torch.device("meta"):
        model = llama3(vocab_size=config.vocab_size, num_layers=config.num_hidden_layers, num_heads=config.num_attention_heads,
                       num_kv_heads=config.num_key_value_heads, embed_dim=config.hidden_size, max_seq_len=int(said["seq"]),
                       intermediate_dim=config.intermediate_size, rope_base=config.rope_parameters["rope_theta"])
    torch.set_default_dtype(torch.float32)
    if said.get("recompute") == "full":
        set_activation_checkpointing(model, auto_wrap_policy={TransformerSelfAttentionLayer})
    return model.to_empty(device="cpu").train()


def blocks_of(model):
    if not hasattr(model, "_no_split_modules") and hasattr(model, "layers"):
        return list(model.layers)  # torchtune's, with the checkpoints around them
    names = set(model._no_split_modules)
    return [module for module in model.modules() if type(module).__name__ in names]


class Plain:
    """A model, what of it is updated, and the steps between that its wrapper does in ways of its own."""

    def __init__(self, model, said):
        self.model, self.said = model, said
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimizer = optimizer_of(self.parameters, said)

    def holding_back(self):
        return self.model.no_sync() if hasattr(self.model, "no_sync") else contextlib.nullcontext()

    def backward(self, loss, last):
        loss.backward()

    def update(self):
        if float(self.said.get("clip", 1)) > 0:
            self.clip()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)


class Replicas(Plain):
    def __init__(self, model, said, way):
        torch.nn.parallel.distributed._verify_param_shape_across_processes = lambda *_: None  # whose answer is a value on the GPU
        wrapped = torch.nn.parallel.DistributedDataParallel(model.to("cuda"), device_ids=[0], gradient_as_bucket_view="views" in way, static_graph="static" in way)
        super().__init__(wrapped, said)


class FlatUnits(Plain):
    def __init__(self, model, said, way):
        from torch.distributed.fsdp import CPUOffload, FullyShardedDataParallel, MixedPrecision, ShardingStrategy
        from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy
        blocks = {id(block) for block in blocks_of(model)}
        policy = functools.partial(lambda_auto_wrap_policy, lambda_fn=lambda module: id(module) in blocks)
        if "lora" in said:
            from peft.utils.other import fsdp_auto_wrap_policy
            policy = fsdp_auto_wrap_policy(model)
        mixed = MixedPrecision(param_dtype=BF16, reduce_dtype=BF16, buffer_dtype=BF16) if said["precision"] == "bf16-mixed" else None
        wrapped = FullyShardedDataParallel(
            model, auto_wrap_policy=policy, mixed_precision=mixed, device_id=0, use_orig_params="flat" not in way,
            sharding_strategy=ShardingStrategy.FULL_SHARD if said["zero"] == "3" else ShardingStrategy.SHARD_GRAD_OP,
            cpu_offload=CPUOffload(offload_params=True) if "params:cpu" in said.get("offload", "") else None)
        super().__init__(wrapped, said)

    def clip(self):
        self.model.clip_grad_norm_(1.0)


class ShardedEach(Plain):
    def __init__(self, model, said, way):
        from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
        how = {"reshard_after_forward": said["zero"] == "3"}
        if said["precision"] == "bf16-mixed":
            how["mp_policy"] = MixedPrecisionPolicy(param_dtype=BF16, reduce_dtype=torch.float32 if "fp32" in way else BF16)
        if "params:cpu" in said.get("offload", ""):
            how["offload_policy"] = CPUOffloadPolicy()
        blocks = blocks_of(model)
        if "ends" in way:
            fully_shard(model.tok_embeddings, **how)
        for i, block in enumerate(blocks):
            # torchtitan's: the last block comes first in backward
            fully_shard(block, **{**how, "reshard_after_forward": how["reshard_after_forward"] and not ("ends" in way and i + 1 == len(blocks))})
        if "ends" in way:
            fully_shard([model.norm, model.output], **{**how, "reshard_after_forward": False})
        if said.get("modules") == "torchtune":
            how.pop("reshard_after_forward")  # torchtitan leaves it to PyTorch, which then keeps the model's own unit after forward
        fully_shard(model, **how)
        if "params:cpu" not in said.get("offload", ""):
            model.to("cuda")
        else:
            for module in model.modules():
                for name, buffer in module.named_buffers(recurse=False):
                    setattr(module, name, buffer.to("cuda"))
        super().__init__(model, said)

    @contextlib.contextmanager
    def holding_back(self):
        self.model.set_requires_gradient_sync(False)
        yield
        self.model.set_requires_gradient_sync(True)


class Partitions(Plain):
    def __init__(self, model, said, way):
        import deepspeed
        stage, hidden = int(said["zero"]), model.config.hidden_size
        zero = {"stage": stage, "overlap_comm": "no-overlap-comm" not in said, "contiguous_gradients": True}
        if said.get("reduce-bucket") == "auto":
            zero |= {"reduce_bucket_size": hidden * hidden}
            if stage == 3:
                zero |= {"stage3_prefetch_bucket_size": int(0.9 * hidden * hidden), "stage3_param_persistence_threshold": 10 * hidden}
        elif "reduce-bucket" in said:
            zero |= {"reduce_bucket_size": int(said["reduce-bucket"])}
        for item, key in (("optimizer", "offload_optimizer"), ("params", "offload_param")):
            if f"{item}:cpu" in said.get("offload", ""):
                zero[key] = {"device": "cpu", "pin_memory": False}
        fields = {"train_micro_batch_size_per_gpu": int(said["batch"]), "gradient_accumulation_steps": int(said.get("accumulate", 1)),
                  "gradient_clipping": float(said.get("clip", 1)), "zero_optimization": zero, "zero_force_ds_cpu_optimizer": False}
        if said["precision"] == "bf16-mixed":
            fields["bf16"] = {"enabled": True}
        # Ranks that are not there cannot say that they hold the same.
        deepspeed.runtime.zero.partition_parameters.assert_ints_same_as_other_ranks = lambda ints: None
        deepspeed.runtime.zero.partitioned_param_coordinator.assert_ints_same_as_other_ranks = lambda ints: None
        self.model, self.said = model, said
        parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.model, *_ = deepspeed.initialize(model=model, optimizer=optimizer_of(parameters, said), config=fields, model_parameters=parameters)

    def holding_back(self):
        return contextlib.nullcontext()

    def backward(self, loss, last):
        self.model.backward(loss)

    def update(self):
        self.model.step()


WAYS = {"ddp": Replicas, "fsdp1": FlatUnits, "fsdp2": ShardedEach, "zero": Partitions}


def loss_of(model, batch, said):
    if said.get("modules") != "torchtune":
        return model(**batch).loss
    return torch.nn.functional.cross_entropy(model(batch["input_ids"]).float().flatten(0, 1), batch["labels"].flatten(0, 1))


def peaks_of(config, said, way):
    mixed, kind = said["precision"] == "bf16-mixed", way.split()[0]
    make = torchtune_of if said.get("modules") == "torchtune" else transformer_of
    model = make(config, said, said["precision"] == "bf16" or "lora" in said)
    training = WAYS[kind](model, said, way.split()[1:])
    del model
    autocast = mixed and kind != "zero" and said.get("modules") != "torchtune" and said.get("autocast") != "no"
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    micro_batches = int(said.get("accumulate", 1))
    whole = "no" if said.get("modules") == "torchtune" else "yes"
    for _ in range(3):
        for i in range(micro_batches):
            batch, last = batch_of(config, said), i + 1 == micro_batches
            with contextlib.nullcontext() if last or said.get("whole-gradients", whole) == "no" else training.holding_back():
                with torch.autocast("cuda", dtype=BF16, enabled=autocast):
                    loss = loss_of(training.model, batch, said)
                training.backward(loss, last)
            del loss, batch
        training.update()
    stats = torch.cuda.memory_stats()
    return stats["requested_bytes.all.peak"]


def run(row, answer):
    fields, said = json.loads(row["config"]), options_of(row["options"])
    os.environ.update(LOCAL_RANK="0", RANK="0", WORLD_SIZE=said["dp"], MASTER_ADDR="localhost", MASTER_PORT="1")
    if row["way"].startswith("ddp"):  # buckets wait for answers that the fake backend does not give; theirs are as large alone
        dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    else:
        dist.init_process_group("fake", rank=0, world_size=int(said["dp"]), store=FakeStore())
    config = transformers.CONFIG_MAPPING[fields.pop("model_type")](**fields, use_cache=False)
    torch.cuda.init()
    answer.send(peaks_of(config, said, row["way"]))


def main(wanted):
    rows = list(csv.DictReader(TABLE.open()))
    for row in rows:
        if wanted and row["case"] not in wanted:
            continue
        # DeepSpeed and FSDP keep things between models: every case in a process of its own.
        here, there = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(target=run, args=(row, there))
        process.start()
        there.close()
        try:
            row["requested"] = here.recv()
        except EOFError:
            print(row["case"], "failed", file=sys.stderr)
            continue
        finally:
            process.join()
        used = [name for name in ("lora", "torchtune", "deepspeed") if name in row["options"]]
        names = ["torch", "transformers", *("peft" if name == "lora" else name for name in used)]
        row["origin"] = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
        print(row["case"], row["requested"], file=sys.stderr)
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
