"""Each argument of `export --to megatron` is one that Megatron-LM's parser has, with a value of its type (megatron_options.csv).

The parser itself is in no package. Where it can be imported (PYTHONPATH=Megatron-LM), it parses the same arguments."""
import argparse
import csv
import pathlib
import subprocess
import sys

from support import equal, export

GPU = ("--on", "A100 80GB", "--ram", "512GiB")
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
    """Megatron-LM's own, of a list of words; nothing where there is no checkout on PYTHONPATH."""
    try:
        from megatron.training.arguments import parse_args
    except ImportError:
        return None

    def parse(words):
        sys.argv = ["pretrain_gpt.py", *words]
        return vars(parse_args())

    return parse


def check_own(words, known):
    """What Megatron-LM's own parser makes of each argument is what the transcription makes of it."""
    parse = own_parser()
    if parse is None:
        return
    own = parse(words)
    for name in [word[2:].replace("-", "_") for word in words if word.startswith("--")]:
        if name in own and name in known:
            equal(f"Megatron-LM's own {name}", own[name], known[name])


def parsed(*arguments, name):
    path = export("megatron", *arguments, name=name)
    listed = subprocess.run(["bash", "-c", f'source "{path}"; printf "%s\\n" "${{MEGATRON_ARGS[@]}}"'], capture_output=True, text=True, check=True)
    words = listed.stdout.split("\n")[:-1]
    known = parser().parse_args(words)
    check_own(words, vars(known))
    return known


cut = parsed("gpt:layers=24,hidden=2048,heads=16,vocab=50257", *GPU, "--stack", "megatron", "--tp", "4", "--pp", "2", "--dp", "2", "--zero", "1", "--chunks", "2",
             "--sequence-parallel", "--recompute", "selective", "--batch", "2", "--accumulate", "8", "--precision", "bf16-mixed", name="cut.sh")
equal("ranks", (cut.tensor_model_parallel_size, cut.pipeline_model_parallel_size, cut.sequence_parallel), (4, 2, True))
equal("chunks", cut.num_layers_per_virtual_pipeline_stage, 6)
equal("batch", (cut.micro_batch_size, cut.global_batch_size), (2, 32))
equal("recompute", (cut.recompute_granularity, cut.recompute_modules), ("selective", ["core_attn"]))
equal("states", cut.use_distributed_optimizer, True)

llama = parsed("llama-3.2-1b", *GPU, "--strategy", "zero-offload", "--batch", "2", name="llama.sh")
equal("llama", (llama.swiglu, llama.normalization, llama.group_query_attention, llama.num_query_groups), (True, "RMSNorm", True, 8))
equal("offload", (llama.optimizer_cpu_offload, llama.optimizer_offload_fraction), (True, 1.0))
equal("recompute", (llama.recompute_granularity, llama.recompute_method, llama.recompute_num_layers), ("full", "uniform", 1))
export("megatron", "gpt2", *GPU, "--strategy", "zero-offload", "--optimizer", "sgd", name="sgd.sh", code=2)
print("megatron's options all known", "to Megatron-LM's own parser, too" if own_parser() else "by their transcription")
