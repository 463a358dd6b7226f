"""torchtitan's own configuration manager reads what `export --to torchtitan` writes (versions up to 0.2 have TOML files)."""
from support import equal, export, need, skip

need("torch")
need("torchtitan")
try:
    from torchtitan.config import ConfigManager
    from torchtitan.config.job_config import JobConfig
except ImportError:
    skip("this torchtitan reads no TOML (0.3 and newer)")

GPU = ("--on", "A100 80GB", "--ram", "512GiB", "--precision", "bf16-mixed")


def parsed(*arguments, name):
    return ConfigManager().parse_args(["--job.config_file", str(export("torchtitan", *arguments, name=name))])


shards = parsed("llama-3.2-1b", *GPU, "--stack", "pytorch", "--modules", "torchtune", "--dp", "8", "--zero", "3", "--recompute", "selective", "--batch", "4", "--lr",
                "1e-4", "--clip", "0.5", "--compile", name="shards.toml")
equal("shards", (shards.parallelism.data_parallel_shard_degree, shards.parallelism.fsdp_reshard_after_forward), (8, "always"))
equal("batch", (shards.training.local_batch_size, shards.training.global_batch_size), (4, 32))
equal("numbers", (shards.optimizer.lr, shards.training.max_norm), (1e-4, 0.5))
equal("checkpoints", (shards.activation_checkpoint.mode, shards.activation_checkpoint.selective_ac_option), ("selective", "op"))
equal("compile", shards.compile.enable, True)
offload = parsed("llama-3.2-1b", *GPU, "--strategy", "zero-3-offload", name="offload.toml")
equal("offload", (offload.training.enable_cpu_offload, offload.activation_checkpoint.mode), (True, "full"))
print("torchtitan reads all")
