"""torchtitan's own configuration reads what `export --to torchtitan` writes: up to 0.2 the TOML file, from 0.3 on the script beside it."""
import importlib.metadata

from support import equal, export, load_script, need

need("torch")
need("torchtitan")
TOML = tuple(map(int, importlib.metadata.version("torchtitan").split(".")[:2])) < (0, 3)

GPU = ("--on", "A100 80GB", "--ram", "512GiB", "--precision", "bf16-mixed")


def parsed(*arguments, name):
    path = export("torchtitan", *arguments, name=name)
    if TOML:
        from torchtitan.config import ConfigManager

        return ConfigManager().parse_args(["--job.config_file", str(path)])
    return load_script(path.with_suffix(".py"), path.stem).configure(flavor="debugmodel")


def rate(config):
    return config.optimizer.lr if TOML else config.optimizer.param_groups[0].optimizer_kwargs["lr"]


def mode(config):
    if TOML:
        return config.activation_checkpoint.mode
    return {"FullAC.Config": "full", "SelectiveAC.Config": "selective"}[type(config.activation_checkpoint).__qualname__]


shards = parsed("llama-3.2-1b", *GPU, "--stack", "pytorch", "--modules", "torchtune", "--dp", "8", "--zero", "3", "--recompute", "selective", "--batch", "4", "--lr",
                "1e-4", "--clip", "0.5", "--compile", name="shards.toml")
equal("shards", (shards.parallelism.data_parallel_shard_degree, shards.parallelism.fsdp_reshard_after_forward), (8, "always"))
equal("batch", (shards.training.local_batch_size, shards.training.global_batch_size), (4, 32))
equal("numbers", (rate(shards), shards.training.max_norm), (1e-4, 0.5))
equal("checkpoints", mode(shards), "selective")
if TOML:
    equal("kept operators", shards.activation_checkpoint.selective_ac_option, "op")
equal("compile", shards.compile.enable, True)
offload = parsed("llama-3.2-1b", *GPU, "--strategy", "zero-3-offload", name="offload.toml")
equal("offload", (offload.training.enable_cpu_offload, mode(offload)), (True, "full"))
print("torchtitan", importlib.metadata.version("torchtitan"), "reads all")
