"""DeepSpeed's own parser reads what `export --to deepspeed` writes, and reads the values that were meant."""
import os

os.environ.setdefault("DS_ACCELERATOR", "cpu")
os.environ.setdefault("RANK", "0")
os.environ.setdefault("WORLD_SIZE", "1")

from support import equal, export, need

need("torch")
need("deepspeed")
from deepspeed.runtime.config import DeepSpeedConfig

GPU = ("--on", "RTX 3090", "--ram", "128GiB", "--ssd", "2TB")


def parsed(*arguments, name):
    return DeepSpeedConfig(str(export("deepspeed", *arguments, name=name)))


offload = parsed("gpt2-xl", *GPU, "--strategy", "zero-offload", "--batch", "4", "--accumulate", "2", "--precision", "bf16-mixed",
                 "--lr", "2e-4", "--clip", "0.5", name="offload.json")
equal("stage", int(offload.zero_config.stage), 2)
equal("device", offload.zero_config.offload_optimizer.device, "cpu")
equal("ratio", offload.zero_config.offload_optimizer.ratio, 1.0)
equal("pinned", offload.zero_config.offload_optimizer.pin_memory, True)
equal("parameters", offload.zero_config.offload_param, None)
equal("batch", (offload.train_batch_size, offload.train_micro_batch_size_per_gpu, offload.gradient_accumulation_steps), (8, 4, 2))
equal("clipping", offload.gradient_clipping, 0.5)
equal("bf16", offload.bfloat16_config.enabled, True)
equal("fp16", offload.float16_config.enabled, False)
equal("optimizer", (offload.optimizer_name, offload.optimizer_params["lr"]), ("adamw", 2e-4))
equal("checkpoints", offload.activation_checkpointing_config.number_checkpoints, 48)

infinity = parsed("gpt2-xl", *GPU, "--strategy", "zero-infinity", "--nvme-path", "/mnt/nvme", name="infinity.json")
equal("stage", int(infinity.zero_config.stage), 3)
equal("states", infinity.zero_config.offload_optimizer.device, "nvme")
equal("path", str(infinity.zero_config.offload_optimizer.nvme_path), "/mnt/nvme")
equal("weights", infinity.zero_config.offload_param.device, "nvme")
equal("pipelined", infinity.zero_config.offload_optimizer.pipeline_read, True)
equal("in CPU", infinity.zero_config.offload_param.max_in_cpu, 0)
equal("checkpoints on the CPU", infinity.activation_checkpointing_config.cpu_checkpointing, True)
equal("block size", infinity.aio_config["block_size"], 1048576)

stack = parsed("gpt2-xl", *GPU, "--stack", "deepspeed", "--strategy", "zero-infinity", "--batch", "8", name="stack.json")
equal("stage", int(stack.zero_config.stage), 3)
equal("pipelined", stack.zero_config.offload_optimizer.pipeline_read, False)
equal("prefetch", stack.zero_config.prefetch_bucket_size, 50_000_000)

half = parsed("gpt2", *GPU, "--precision", "fp16-mixed", "--loss-scale", "dynamic:4096:500", name="half.json")
equal("scale", (half.float16_config.initial_scale_power, half.float16_config.loss_scale_window), (12, 500))

twin = parsed("gpt2-xl", *GPU, "--strategy", "twin-flow", "--batch", "2", name="twin.json")
equal("stage", int(twin.zero_config.stage), 3)
assert 0 <= twin.zero_config.offload_optimizer.ratio < 1, twin.zero_config.offload_optimizer.ratio
print("deepspeed reads all")
