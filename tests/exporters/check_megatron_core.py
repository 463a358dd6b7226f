"""megatron-core's own configurations take what `export --to megatron` writes: Megatron-LM makes them of the arguments of the same name.

Of any version: the parser itself comes with later ones alone (check_megatron.py)."""
import dataclasses
import logging
import subprocess
import warnings

from support import equal, export, need, skip

need("torch")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
try:
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.optimizer import OptimizerConfig
    from megatron.core.transformer.transformer_config import TransformerConfig
    from megatron.core import utils
    from packaging.version import Version
except ImportError as error:
    skip(f"megatron-core is not installed here ({error})")

utils._te_version = Version("2.1.0")  # Transformer Engine needs a GPU's compiler to install; it is asked for its version alone

GPU = ("--on", "A100 80GB", "--ram", "512GiB")
# Arguments whose field has another name or sense, as megatron/training/arguments.py sets them.
RENAMED = {"norm-epsilon": "layernorm_epsilon"}
SWITCHES = {"swiglu": ("gated_linear_unit", True), "disable-bias-linear": ("add_bias_linear", False)}


def words_of(path):
    lines = subprocess.run(["bash", "-c", f'source "{path}"; printf "%s\\n" "${{MEGATRON_ARGS[@]}}"'], capture_output=True, text=True, check=True)
    return lines.stdout.split("\n")[:-1]


def fields_of(path):
    """Field names and the words that follow each option."""
    values, name = {}, None
    for word in words_of(path):
        if word.startswith("--"):
            name = word[2:]
            values[name] = []
        else:
            values[name].append(word)
    fields = {RENAMED.get(name, name.replace("-", "_")): given for name, given in values.items() if name not in SWITCHES}
    return fields | {field: value for name, (field, value) in SWITCHES.items() if name in values}


def value_of(field, given):
    """The words as the field's type."""
    if not isinstance(given, list):
        return given
    if not given:
        return True
    kind = str(field.type)
    if "List" in kind or "list" in kind:
        return given
    return int(given[0]) if "int" in kind and "float" not in kind else float(given[0]) if "float" in kind else given[0]


def made(kind, given, **more):
    known = {field.name: field for field in dataclasses.fields(kind)}
    return kind(**{name: value_of(known[name], value) for name, value in given.items() if name in known}, **more)


def configurations(*arguments, name):
    given = fields_of(export("megatron", *arguments, name=name))
    chunks = given.get("num_layers_per_virtual_pipeline_stage")
    more = {}
    if chunks:
        more["virtual_pipeline_model_parallel_size"] = int(given["num_layers"][0]) // int(given["pipeline_model_parallel_size"][0]) // int(chunks[0])
    if int(given["pipeline_model_parallel_size"][0]) > 1:
        import torch

        more["pipeline_dtype"] = torch.bfloat16
    given.get("cpu_offloading_num_layers") and more.update(cpu_offloading=True)
    return made(TransformerConfig, given, **more), made(OptimizerConfig, given), made(DistributedDataParallelConfig, given)


model, optimizer, ranks = configurations("gpt:layers=24,hidden=2048,heads=16,vocab=50257", *GPU, "--stack", "megatron", "--tp", "4", "--pp", "2", "--dp", "2",
                                         "--zero", "1", "--chunks", "2", "--sequence-parallel", "--recompute", "selective", "--batch", "2", "--accumulate", "8",
                                         "--precision", "bf16-mixed", name="cut.sh")
equal("ranks", (model.tensor_model_parallel_size, model.pipeline_model_parallel_size, model.sequence_parallel), (4, 2, True))
equal("chunks", model.virtual_pipeline_model_parallel_size, 2)
equal("recompute", (model.recompute_granularity, model.recompute_modules), ("selective", ["core_attn"]))
equal("states", (optimizer.use_distributed_optimizer, ranks.use_distributed_optimizer), (True, True))
equal("precision", (model.bf16, optimizer.bf16), (True, True))

model, optimizer, ranks = configurations("llama-3.2-1b", *GPU, "--strategy", "zero-offload", "--batch", "2", name="llama.sh")
equal("llama", (model.gated_linear_unit, model.normalization, model.num_query_groups, model.add_bias_linear), (True, "RMSNorm", 8, False))
equal("offload", (optimizer.optimizer_cpu_offload, optimizer.optimizer_offload_fraction), (True, 1.0))
equal("recompute", (model.recompute_granularity, model.recompute_method, model.recompute_num_layers), ("full", "uniform", 1))
print("megatron-core takes all")
