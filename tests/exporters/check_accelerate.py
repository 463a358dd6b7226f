"""accelerate's own reader of configurations takes what `export --to accelerate` writes; unknown keys would raise."""
from support import equal, export, need

need("torch")
need("accelerate")
from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file
from accelerate.commands.launch import launch_command_parser

GPU = ("--on", "RTX 3090", "--ram", "128GiB", "--ssd", "2TB")


def options():
    """All names of options of accelerate launch."""
    return {name for action in launch_command_parser()._actions for name in action.option_strings}


def check_keys(section):
    known = options()
    for key in section:
        assert f"--{key}" in known, f"accelerate launch has no --{key}"


offload = load_config_from_file(str(export("accelerate", "gpt2-xl", *GPU, "--strategy", "zero-infinity", "--clip", "0.5", name="ds.yaml")))
assert isinstance(offload, ClusterConfig)
equal("kind", offload.distributed_type, "DEEPSPEED")
equal("stage", offload.deepspeed_config["zero_stage"], 3)
equal("states", offload.deepspeed_config["offload_optimizer_device"], "nvme")
equal("clipping", offload.deepspeed_config["gradient_clipping"], 0.5)
check_keys(offload.deepspeed_config)

shards = load_config_from_file(str(export("accelerate", "llama-3.2-1b", *GPU, "--stack", "pytorch", "--dp", "4", "--zero", "3", "--recompute", "full",
                                          "--precision", "bf16-mixed", name="fsdp.yaml")))
equal("kind", shards.distributed_type, "FSDP")
equal("version", shards.fsdp_config["fsdp_version"], 2)
equal("units", shards.fsdp_config["fsdp_transformer_layer_cls_to_wrap"], "LlamaDecoderLayer")
equal("reshard", shards.fsdp_config["fsdp_reshard_after_forward"], True)
equal("checkpoints", shards.fsdp_config["fsdp_activation_checkpointing"], True)
equal("processes", shards.num_processes, 4)
equal("precision", shards.mixed_precision, "bf16")
check_keys(shards.fsdp_config)
whole = load_config_from_file(str(export("accelerate", "llama-3.2-1b", *GPU, "--stack", "pytorch", "--lora", "16", "--base-bits", "4", name="one.yaml")))
equal("kind", whole.distributed_type, "NO")
equal("processes", whole.num_processes, 1)
print("accelerate reads all")
