"""Every key of `export --to gemini` is a parameter of Colossal-AI's GeminiPlugin, read from its source without running it (the
package needs older libraries than most machines have)."""
import ast
import importlib.util
import pathlib

from support import FOLDER, equal, export_json, load_script, skip

found = importlib.util.find_spec("colossalai")
if found is None:
    skip("colossalai is not installed here")
source = pathlib.Path(found.submodule_search_locations[0]) / "booster" / "plugin" / "gemini_plugin.py"
plugin = next(node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef) and node.name == "GeminiPlugin")
init = next(node for node in plugin.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
known = {argument.arg for argument in init.args.args} - {"self"}

GPU = ("--on", "RTX 3090", "--ram", "128GiB", "--precision", "bf16-mixed")
static = export_json("gemini", "gpt2-xl", *GPU, "--strategy", "gemini-static", name="gemini.json")["plugin"]
equal("unknown", set(static) - known, set())
equal("not said", known - set(static), {"chunk_config_dict", "chunk_init_device", "memstats"})
equal("fractions", (static["offload_optim_frac"], static["offload_param_frac"], static["placement_policy"]), (1.0, 1.0, "static"))
automatic = export_json("gemini", "gpt2-xl", *GPU, "--stack", "colossalai", "--strategy", "gemini", "--batch", "4", name="auto.json")["plugin"]
equal("policy", automatic["placement_policy"], "auto")
equal("loader", load_script(FOLDER / "gemini.py", "gemini").load_arguments()["plugin"], static)
print("GeminiPlugin knows all", len(static), "arguments")
