"""Each argument of `export --to megatron` is one that Megatron-LM's parser has, with a value of its type (megatron_options.csv).

Where Megatron-LM's own parser is installed (megatron-core from 0.17 on, Python 3.12) or checked out (PYTHONPATH=Megatron-LM), it
parses the same arguments, checks what goes together, and makes its configuration of the model."""
import argparse
import csv
import math
import os
import pathlib
import re
import subprocess
import sys

from support import equal, export

GPU = ("--on", "A100 80GB", "--ram", "512GiB")
GPT = ("gpt:layers=24,hidden=2048,heads=16,vocab=50257", *GPU, "--stack", "megatron", "--batch", "2", "--precision", "bf16-mixed")
TYPES = {"int": int, "float": float, "str": str}


def parser():
    made = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    for row in csv.DictReader((pathlib.Path(__file__).parent / "megatron_options.csv").read_text().splitlines()):
        if row["type"] == "flag":
            made.add_argument(row["option"], action="store_true")
        else:
            choices = row["choices"].split() or None
            made.add_argument(row["option"], type=TYPES[row["type"]], nargs="*" if row["several"] else None, choices=None if row["several"] else choices)
    return made


def own_parser():
    """Megatron-LM's own module of arguments; nothing where there is none."""
    try:
        from megatron.core import utils
        from megatron.core.models.common.embeddings import rope_utils
        from megatron.training import arguments
        from packaging.version import Version
    except ImportError:
        return None
    # Transformer Engine needs a GPU's compiler to install; it is asked for its version alone, and whether its kernel is there.
    utils._te_version = Version("2.1.0")
    rope_utils.fused_apply_rotary_pos_emb = print
    arguments.get_device_arch_version = lambda: 8  # an A100, where none is
    return arguments


OWN = own_parser()


def check_own(words, ranks, known):
    """Megatron-LM's own parser makes of each argument what the transcription makes of it, and takes them together."""
    if OWN is None:
        return
    sys.argv = ["pretrain_gpt.py", *words]
    os.environ |= {"WORLD_SIZE": str(ranks), "RANK": "0"}
    asked = OWN.parse_args()
    for name in [word[2:].replace("-", "_") for word in words if word.startswith("--")]:
        if hasattr(asked, name):  # some are kept under another name (norm-epsilon) or in reverse (disable-bias-linear)
            equal(f"Megatron-LM's own {name}", getattr(asked, name), known[name])
    checked = OWN.validate_args(asked)
    model = OWN.core_transformer_config_from_args(checked)
    others = [known[kind + "_parallel_size"] for kind in ("tensor_model", "pipeline_model", "context")]
    equal("Megatron-LM's ranks", checked.data_parallel_size * math.prod(others), ranks)
    equal("Megatron-LM's model", (model.num_layers, model.hidden_size, model.ffn_hidden_size),
          (known["num_layers"], known["hidden_size"], known["ffn_hidden_size"]))


def parsed(*arguments, name):
    path = export("megatron", *arguments, name=name)
    sourced = f'source "{path}"; printf "%s\\n" "${{CUDA_DEVICE_MAX_CONNECTIONS-}}" "${{MEGATRON_ARGS[@]}}"'
    listed = subprocess.run(["bash", "-c", sourced], capture_output=True, text=True, check=True)
    connections, *words = listed.stdout.split("\n")[:-1]
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    if connections:
        os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = connections
    known = parser().parse_args(words)
    started = path.read_text()
    nodes = re.search(r"--nnodes (\d+)", started)
    ranks = int(re.search(r"--nproc-per-node (\d+)", started)[1]) * (int(nodes[1]) if nodes else 1)
    check_own(words, ranks, vars(known))
    return known


cut = parsed(*GPT, "--tp", "4", "--pp", "2", "--dp", "2", "--zero", "1", "--chunks", "2", "--sequence-parallel", "--recompute", "selective",
             "--accumulate", "8", name="cut.sh")
equal("ranks", (cut.tensor_model_parallel_size, cut.pipeline_model_parallel_size, cut.sequence_parallel), (4, 2, True))
equal("chunks", cut.num_layers_per_virtual_pipeline_stage, 6)
equal("batch", (cut.micro_batch_size, cut.global_batch_size), (2, 32))
equal("recompute", (cut.recompute_granularity, cut.recompute_modules), ("selective", ["core_attn"]))
equal("states", cut.use_distributed_optimizer, True)

llama = parsed("llama-3.2-1b", *GPU, "--strategy", "zero-offload", "--batch", "2", name="llama.sh")
equal("llama", (llama.swiglu, llama.normalization, llama.group_query_attention, llama.num_query_groups), (True, "RMSNorm", True, 8))
equal("rotary positions", (llama.use_rope_scaling, llama.rope_scaling_factor), (True, 32.0))
equal("offload", (llama.optimizer_cpu_offload, llama.optimizer_offload_fraction), (True, 1.0))
equal("recompute", (llama.recompute_granularity, llama.recompute_method, llama.recompute_num_layers), ("full", "uniform", 1))
export("megatron", "gpt2", *GPU, "--strategy", "zero-offload", "--optimizer", "sgd", name="sgd.sh", code=2)

OTHERS = {
    "zero-1": (*GPT, "--dp", "4", "--zero", "1"),
    "zero-2": (*GPT, "--dp", "4", "--zero", "2"),
    "zero-3": (*GPT, "--dp", "4", "--zero", "3"),
    "context": (*GPT, "--cp", "2", "--dp", "2"),
    "pipeline": (*GPT, "--pp", "4", "--accumulate", "8", "--recompute", "full"),
    "sequence": ("llama-3.2-1b", *GPU, "--stack", "megatron", "--tp", "2", "--dp", "2", "--sequence-parallel", "--recompute", "full"),
    "qwen": ("qwen3-0.6b", *GPU, "--batch", "2", "--precision", "bf16-mixed"),
    "half": ("gpt2", *GPU, "--precision", "fp16-mixed"),
    "full": ("gpt2", *GPU, "--precision", "fp32"),
    "sgd": ("gpt2", *GPU, "--optimizer", "sgd"),
    "rates": ("gpt2", *GPU, "--schedule", "cosine", "--warmup", "10", "--steps", "100"),
}
made = {name: parsed(*asked, name=name + ".sh") for name, asked in OTHERS.items()}
equal("stages", [made[name].data_parallel_sharding_strategy for name in ("zero-2", "zero-3")], ["optim_grads", "optim_grads_params"])
equal("rates", (made["rates"].lr_decay_style, made["rates"].lr_warmup_iters, made["rates"].train_iters), ("cosine", 10, 100))
print(f"megatron's options of {len(made) + 2} setups all known",
      "to Megatron-LM's own parser, too" if OWN else "by their transcription (megatron-core's own parser, from 0.17 on, is not installed)")
