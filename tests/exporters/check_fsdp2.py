"""The policy of `export --to fsdp2` shards a tiny GPT-2 over a world of one CPU process, and one step runs and learns the same."""
import json
import os

from support import FOLDER, equal, export, load_script, need

torch = need("torch")
transformers = need("transformers")
try:
    from torch.distributed.fsdp import FSDPModule
except ImportError:
    from support import skip

    skip("this PyTorch has no fully_shard")

SHAPE = "gpt:layers=3,hidden=32,heads=4,vocab=64,positions=16"


def tiny():
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=3, n_embd=32, n_head=4, vocab_size=64, n_positions=16, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    return transformers.GPT2LMHeadModel(config)


def step(model):
    """One step of SGD; the loss before and after."""
    tokens = torch.arange(32).reshape(2, 16) % 64
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(2):
        loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
        losses.append(loss.item())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return losses


path = export("fsdp2", SHAPE, "--on", "RTX 3090", "--ram", "64GiB", "--strategy", "zero-3-offload", "--precision", "fp32", name="fsdp2.json")
policy = json.loads(path.read_text())
equal("units", [unit["fqn"] for unit in policy["units"]], ["transformer.h.0", "transformer.h.1", "transformer.h.2"])
equal("offload", policy["offload_policy"]["cpu"], True)
equal("checkpoint", policy["units"][0]["checkpoint"], True)
apply = load_script(FOLDER / "fsdp2.py", "apply_fsdp2")

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29531", RANK="0", WORLD_SIZE="1")
torch.distributed.init_process_group("gloo", rank=0, world_size=1)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
alone = step(tiny())
policy_read = apply.load_policy(path)
model = apply.apply_policy(tiny(), policy_read, mesh)
assert isinstance(model, FSDPModule) and isinstance(model.transformer.h[1], FSDPModule)
sharded = step(model)
assert sharded[1] < sharded[0], sharded
assert all(abs(a - b) < 1e-5 for a, b in zip(alone, sharded)), (alone, sharded)
try:
    apply.apply_policy(torch.nn.Linear(2, 2), policy_read, mesh)
    raise SystemExit("a policy of another model was applied")
except KeyError:
    pass
torch.distributed.destroy_process_group()
print("FSDP2 steps as the policy says: losses", alone, sharded)
