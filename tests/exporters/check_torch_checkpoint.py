"""The policy of `export --to torch-checkpoint` on a tiny GPT-2: what PyTorch keeps is, to the byte, what the plan says is kept, and
the gradients stay the same."""
import json

from support import FOLDER, PROGRAM, equal, export, load_script, need, plimsoll

torch = need("torch")
transformers = need("transformers")

LAYERS, HIDDEN, HEADS, ROWS, SEQUENCE = 4, 32, 4, 2, 16
SHAPE = f"gpt:layers={LAYERS},hidden={HIDDEN},heads={HEADS},vocab=64,positions={SEQUENCE}"
MACHINE = ("--on", "RTX 3090", "--ram", "64GiB", "--precision", "fp32", "--batch", ROWS, "--seq", SEQUENCE)


def tiny():
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=LAYERS, n_embd=HIDDEN, n_head=HEADS, vocab_size=64, n_positions=SEQUENCE, resid_pdrop=0, embd_pdrop=0,
                                     attn_pdrop=0, activation_function="gelu_pytorch_tanh", attn_implementation="sdpa")
    return transformers.GPT2LMHeadModel(config)


def gradients(model, after_forward=lambda: None):
    tokens = torch.arange(ROWS * SEQUENCE).reshape(ROWS, SEQUENCE) % 64
    loss = model(input_ids=tokens, labels=tokens, use_cache=False).loss
    after_forward()
    loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def bytes_of(stored):
    """Of what PyTorch holds of one operator: tensors in wrappers, in tuples, lists or dicts of them."""
    tensors = [getattr(leaf, "val", leaf) for leaf in torch.utils._pytree.tree_leaves(stored)]
    return sum(t.numel() * t.element_size() for t in tensors if isinstance(t, torch.Tensor))


def strategy(name, **choices):
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps({"format_version": 1, "name": name, **choices}))
    return path


def applied(name, **choices):
    path = export("torch-checkpoint", SHAPE, *MACHINE, "--strategy", strategy(name, **choices), name=f"{name}_policy.py")
    return load_script(path, name)


def watch(policy):
    """The storages of PyTorch's caching modes, one a segment, as they are made."""
    storages = []
    original = policy.create_selective_checkpoint_contexts

    def watched(says):
        forward, recompute = original(says)
        storages.append(forward.storage)
        return forward, recompute

    policy.create_selective_checkpoint_contexts = watched
    return storages


def kept_by_kind(policy, storage):
    kept = {}
    for op, stored in storage.items():
        count = bytes_of(dict(stored) if isinstance(stored, dict) else list(stored))
        if count:
            kind = policy.KIND_OF[op.name().split(".")[0]]
            kept[kind] = kept.get(kind, 0) + count
    return kept


expected = gradients(tiny())
for name, choices in {
    "every": {"recompute_every": 1},
    "two": {"recompute_every": 2},
    "kept3": {"recompute_every": 1, "kept_outputs": 3},
    "kept5": {"recompute_every": 1, "kept_outputs": 5},
    "pairs": {"recompute_every": 2, "kept_outputs": 3},
}.items():
    policy = applied(name, **choices)
    storages, kept = watch(policy), []
    model = policy.apply_policy(tiny())
    got = gradients(model, lambda: kept.extend(kept_by_kind(policy, storage) for storage in storages))
    worst = max((a - b).abs().max().item() for a, b in zip(expected, got))
    assert worst < 1e-6, (name, worst)
    planned = [{kind: count for kind, count in s["kept_bytes"].items() if count} for s in policy.PLAN["segments"]]
    if "kept_outputs" in choices:
        equal(f"{name}: bytes kept", kept, planned)
        assert any(planned), "nothing to compare"
    else:
        equal(f"{name}: segments", (kept, [s["mode"] for s in policy.PLAN["segments"]]), ([], ["input"] * len(planned)))
    print(name, "gradients differ by at most", worst, "kept", planned[0])

try:
    policy.apply_policy(tiny().transformer.h[0])
    raise SystemExit("a policy of another model was applied")
except (ValueError, AttributeError):
    pass
