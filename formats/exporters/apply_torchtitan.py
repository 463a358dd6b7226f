"""torchtitan from 0.3 on has configurations in Python: this makes one of what `plimsoll export --to torchtitan` wrote.

    MODULE=titan CONFIG=training ./run_train.sh      # this file is titan.py, its folder on PYTHONPATH, titan.toml beside it

Up to torchtitan 0.2 the TOML file itself is the configuration (--job.config_file). Python 3.11 or newer.
"""
import dataclasses
import importlib
import pathlib
import tomllib


def fill(config, values):
    """Sets fields of a torchtitan configuration; a key that this torchtitan does not have is an error."""
    known = {field.name for field in dataclasses.fields(config)}
    for key, value in values.items():
        if key not in known:
            raise KeyError(f"{type(config).__qualname__} of this torchtitan has no {key}")
        setattr(config, key, value)


def optimizer_of(values):
    from torchtitan.components.optimizer import OptimizersContainer, ParamGroupConfig

    kwargs = {key: values[key] for key in ("lr", "eps", "weight_decay")} | {"betas": (values["beta1"], values["beta2"])}
    group = ParamGroupConfig(pattern=r".*", optimizer_name=values["name"], optimizer_kwargs=kwargs)
    return OptimizersContainer.Config(param_groups=[group], implementation=values["implementation"])


def checkpoints_of(values):
    from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC

    kinds = {"full": FullAC, "selective": SelectiveAC}
    return kinds[values["mode"]].Config(preserve_rng_state=values["preserve_rng_state"]) if values["mode"] in kinds else None


def configure(path=None, flavor=None):
    """The Trainer.Config of the TOML file in `path` (without one: beside this script); `flavor` in place of the file's."""
    values = tomllib.loads((pathlib.Path(path) if path else pathlib.Path(__file__).with_suffix(".toml")).read_text())
    model = f"torchtitan.models.{values['model']['name']}"
    config = getattr(importlib.import_module(f"{model}.config_registry"), f"{values['model']['name']}_debugmodel")()
    config.model_spec = importlib.import_module(model).model_registry(flavor or values["model"]["flavor"])
    for section in ("training", "parallelism", "lr_scheduler", "compile", "debug"):
        fill(getattr(config, section), values[section])
    config.optimizer = optimizer_of(values["optimizer"])
    config.activation_checkpoint = checkpoints_of(values["activation_checkpoint"])
    return config


def training():
    return configure()
