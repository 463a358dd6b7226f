"""The peak of an eager training step as PyTorch's own memory tracker counts it; what make_eager_peaks.py and make_liger_peaks.py share."""
import torch
from torch.distributed._tools.mem_tracker import MemTracker

from hidden_product import HiddenProduct

# The tracker hooks every parameter; a frozen one takes no hook.
for hook in ("register_hook", "register_post_accumulate_grad_hook"):
    plain = getattr(torch.Tensor, hook)
    setattr(torch.Tensor, hook, lambda self, call, plain=plain:
            plain(self, call) if self.requires_grad else type("NoHook", (), {"remove": lambda self: None})())

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def peak_of(net, inputs, mixed, recompute, lora):
    """MiB in the second step of `net` on what `inputs()` makes, under FakeTensorMode; `mixed`: under bf16 autocast."""
    net.train()
    if recompute == "full":
        net.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        if lora:
            net.enable_input_require_grads()
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], foreach=True)
    # Under the tracker the embedding's output, a leaf that asks for a gradient beside a frozen model, outlives its step: states
    # are made before, and one step is enough.
    leaf = recompute == "full" and lora
    if leaf:
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    tracker = MemTracker()
    tracker.track_external(net, optimizer)
    for _ in range(1 if leaf else 2):
        with tracker, HiddenProduct():
            batch = inputs()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mixed):
                result = net(**batch)
            loss = result.loss
            del result
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            del loss, batch
        snapshot = next(iter(tracker.get_tracker_snapshot("peak").values()))
        tracker.reset_mod_stats()
    return {str(k).split(".")[-1]: v for k, v in snapshot.items()}["Total"] / 2**20
