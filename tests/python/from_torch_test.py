"""Laws of plimsoll.from_torch: what it records is what PyTorch does."""

import json
import os
import sys
import tempfile
import unittest

import plimsoll

try:
    import torch
except ImportError:
    print("skipped: torch is not installed")
    sys.exit(77)


def importable(name):
    try:
        __import__(name)
    except ImportError:
        return False
    return True


class Block(torch.nn.Module):
    """Attention and a feed-forward layer, as a decoder has them."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.feed = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))

    def forward(self, x):
        b, s, w = x.shape
        parts = self.qkv(self.norm(x)).split(w, dim=2)
        q, k, v = (part.view(b, s, self.heads, w // self.heads).transpose(1, 2) for part in parts)
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(b, s, w))
        return x + self.feed(x)


class WithLoss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x, labels):
        return torch.nn.functional.cross_entropy(self.model(x), labels)


def saved_for_backward(model, batch):
    """Bytes that autograd saves of a real forward pass on the CPU, parameters, buffers and the batch aside."""
    given = batch.values() if isinstance(batch, dict) else batch
    known = {t.untyped_storage().data_ptr() for t in [*model.parameters(), *model.buffers(), *given]}
    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            found[storage.data_ptr()] = (storage.nbytes(), tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = model(**batch) if isinstance(batch, dict) else model(*batch)
    assert output is not None
    return sum(size for size, _ in found.values())


def live_peak(graph):
    """Most bytes that live at once, parameters and all, over the recorded operations."""
    data = graph.data
    held = {p["storage"] for p in data["parameters"]} | set(data["buffers"]) | set(data["inputs"])
    live = peak = sum(data["storages"][number] for number in held)
    for operation in data["ops"]:
        live += sum(data["storages"][number] for number in operation["makes"])
        peak = max(peak, live)
        live -= sum(data["storages"][number] for number in operation["frees"])
    return peak


class Recording(unittest.TestCase):
    def test_a_product_costs_what_its_sizes_say(self):
        # y = x Wᵀ of 8 rows, 16 inputs, 4 outputs: 2·8·16·4 = 1,024 FLOPs forward. Backward makes dW alone (x needs no
        # gradient): as many.
        layer = torch.nn.Linear(16, 4, bias=False)
        graph = plimsoll.from_torch(layer, torch.zeros(8, 16))
        products = [k for op in graph.data["ops"] for k in op["kernels"] if k["sort"] == "product"]
        self.assertEqual([(k["m"], k["k"], k["n"], k["flops"]) for k in products], [(8, 16, 4, 1024.0), (4, 8, 16, 1024.0)])
        # Read 8·16 + 16·4, written 8·4, of four bytes.
        self.assertEqual(products[0]["bytes"], 4 * (8 * 16 + 16 * 4 + 8 * 4))
        self.assertEqual(graph.parameters, 64)

    def test_a_convolution_goes_backward_once_for_each_gradient(self):
        # 2 pictures of 6·6 places, 5 channels from 3 with windows of 9: 2·(2·36)·5·27 = 19,440 FLOPs a pass.
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 5, 3, bias=False), torch.nn.Conv2d(5, 5, 1, bias=False))
        graph = plimsoll.from_torch(net, torch.zeros(2, 3, 8, 8))
        flops = [k["flops"] for op in graph.data["ops"] for k in op["kernels"] if k["sort"] == "convolution"]
        second = 2.0 * (2 * 36) * 5 * 5
        self.assertEqual(flops, [19440.0, second, second, second, 19440.0])

    def test_nothing_is_allocated_and_the_model_stays_as_it_was(self):
        # 10^12 parameters would be 4 TB.
        with torch.device("meta"):
            layer = torch.nn.Linear(1_000_000, 1_000_000, bias=False)
        graph = plimsoll.from_torch(layer, torch.empty(1, 1_000_000, device="meta"))
        self.assertEqual(graph.parameters, 10**12)
        small = torch.nn.Linear(4, 4)
        before = small.weight.clone()
        plimsoll.from_torch(small, torch.ones(1, 4))
        self.assertTrue(torch.equal(small.weight, before))
        self.assertEqual(small.weight.device.type, "cpu")
        self.assertIsNone(small.weight.grad)

    def test_every_trained_parameter_gets_one_gradient_of_its_size(self):
        model = Block()
        graph = plimsoll.from_torch(model, torch.zeros(2, 8, 32))
        got = {name: number for op in graph.data["ops"] for name, number in op.get("gradients", {}).items()}
        sizes = {name: parameter.numel() * 4 for name, parameter in model.named_parameters()}
        self.assertEqual({name: graph.data["storages"][number] for name, number in got.items()}, sizes)

    def test_what_is_saved_is_what_autograd_saves(self):
        model, batch = Block(), (torch.zeros(2, 8, 32),)
        # The GPU's attention keeps two numbers of eight bytes (its generator's seed and offset), and its sums are padded to 32
        # rows: 2 sequences · 4 heads · (32 − 8) rows · 4 bytes = 768.
        self.assertEqual(plimsoll.from_torch(model, batch).saved_bytes, saved_for_backward(model, batch) + 16 + 768)

    def test_checkpointed_blocks_save_their_inputs_alone_and_run_twice(self):
        from torch.utils.checkpoint import checkpoint

        class Checkpointed(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = Block(), Block()

            def forward(self, x):
                return checkpoint(self.second, checkpoint(self.first, x, use_reentrant=False), use_reentrant=False)

        graph = plimsoll.from_torch(Checkpointed(), torch.zeros(2, 8, 32))
        # Between the blocks 2·8·32 numbers of four bytes; the first block's input is the batch. The output waits for its mean.
        self.assertLessEqual(graph.saved_bytes, 2 * 2 * 8 * 32 * 4)
        again = [op for op in graph.data["ops"] if op.get("again") and op["op"] == "native_layer_norm"]
        self.assertEqual(len(again), 2)
        self.assertFalse([op for op in graph.data["ops"] if op.get("again") and op["op"].endswith("_backward")])

    def test_autocast_multiplies_in_two_bytes_and_norms_in_four(self):
        graph = plimsoll.from_torch(Block(), torch.zeros(2, 8, 32), precision="bf16-mixed")
        kernels = [(op["op"], k["dtype"]) for op in graph.data["ops"] for k in op["kernels"]]
        self.assertIn(("addmm", "bf16"), kernels)
        self.assertIn(("_scaled_dot_product_flash_attention", "bf16"), kernels)
        self.assertIn(("native_layer_norm", "fp32"), kernels)
        self.assertNotIn(("addmm", "fp32"), kernels)

    def test_the_program_reads_what_is_recorded(self):
        graph = plimsoll.from_torch(Block(), torch.zeros(2, 8, 32), name="block")
        answer = graph.fit("RTX 3090")
        self.assertEqual((answer["verdict"], answer["model"]), ("fits", {"name": "block", "parameters": graph.parameters}))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.json")
            graph.save(path)
            self.assertEqual(plimsoll.fit(path, on="RTX 3090"), answer)

    def test_states_and_gradients_are_counted(self):
        # 2^24 parameters of four bytes: weights, gradients, and two moments are 4 · 64 MiB.
        with torch.device("meta"):
            layer = torch.nn.Linear(4096, 4096, bias=False)
        graph = plimsoll.from_torch(layer, torch.empty(1, 4096, device="meta"))
        held = graph.fit("RTX 3090", optimizer="adamw")["memory"][0]["by_category"]
        self.assertEqual((held["parameters"], held["gradients"], held["optimizer"]), (64 << 20, 64 << 20, 128 << 20))

    def test_what_cannot_be_recorded_is_an_error_with_a_remedy(self):
        class Looks(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(2, 2)

            def forward(self, x):
                y = self.layer(x).sum()
                return y if y.item() > 0 else -y

        for model, batch, more in ((Looks(), torch.zeros(1, 2), {}), (torch.nn.Linear(2, 2), torch.zeros(1, 3), {}),
                                   (torch.nn.Linear(2, 2).requires_grad_(False), torch.zeros(1, 2), {}),
                                   (torch.nn.Linear(2, 2), torch.zeros(1, 2), {"precision": "int3"})):
            with self.assertRaises(plimsoll.Error) as caught:
                plimsoll.from_torch(model, batch, **more)
            self.assertIn("docs/python.md", caught.exception.remedy)

    def test_a_spoilt_graph_is_refused_with_its_place(self):
        graph = plimsoll.from_torch(torch.nn.Linear(4, 4), torch.zeros(1, 4))
        spoilt = json.loads(json.dumps(graph.data))
        spoilt["ops"][0]["frees"] = [0]
        with self.assertRaises(plimsoll.Error) as caught:
            plimsoll.StepGraph(spoilt).fit("T4")
        self.assertIn("ops[0]", str(caught.exception))


@unittest.skipUnless(importable("transformers"), "transformers is not installed")
class Gpt2(unittest.TestCase):
    def model(self, **config):
        import transformers

        return transformers.GPT2LMHeadModel(transformers.GPT2Config(use_cache=False, **config))

    def test_its_parameters_are_those_of_the_zoo(self):
        with torch.device("meta"):
            model = self.model()
        ids = torch.zeros(1, 1024, dtype=torch.long)
        graph = plimsoll.from_torch(model, {"input_ids": ids, "labels": ids})
        zoo = plimsoll.fit("gpt2", on="RTX 3090", stack="pytorch", precision="fp32", seq=1024)
        self.assertEqual(graph.parameters, zoo["model"]["parameters"])
        self.assertEqual(graph.parameters, 124_439_808)
        # Two independent ways to one figure: operations as PyTorch dispatches them, and this project's rules of its modules.
        own, by_rules = (a["memory"][0]["peak_allocated_bytes"] for a in (graph.fit("RTX 3090"), zoo))
        print(f"GPT-2, one sequence of 1024: recorded {own / 2**20:.1f} MiB, by rules {by_rules / 2**20:.1f} MiB, "
              f"{100 * (own / by_rules - 1):+.2f} %")
        self.assertAlmostEqual(own / by_rules, 1, delta=0.005)

    def test_what_is_saved_is_what_autograd_saves(self):
        none = {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
        model = self.model(n_layer=2, n_embd=64, n_head=4, vocab_size=100, n_positions=32, bos_token_id=1, eos_token_id=2, **none)
        ids = torch.zeros(2, 32, dtype=torch.long)
        batch = {"input_ids": ids, "labels": ids}
        # Seed and offset of two attentions on a GPU: 2 · 2 · 8 bytes.
        self.assertEqual(plimsoll.from_torch(model, batch).saved_bytes, saved_for_backward(model, batch) + 32)


@unittest.skipUnless(importable("torchvision"), "torchvision is not installed")
class ResNet(unittest.TestCase):
    def test_parameters_and_saved_bytes_are_those_of_torch(self):
        import torchvision

        model = WithLoss(torchvision.models.resnet18())
        batch = (torch.zeros(2, 3, 64, 64), torch.zeros(2, dtype=torch.long))
        graph = plimsoll.from_torch(model, batch)
        self.assertEqual(graph.parameters, sum(p.numel() for p in model.parameters()))
        self.assertEqual(graph.saved_bytes, saved_for_backward(model, batch))
        self.assertGreater(live_peak(graph), graph.saved_bytes)

    def test_resnet50_is_that_of_the_zoo(self):
        import torchvision

        with torch.device("meta"):
            model = WithLoss(torchvision.models.resnet50())
        graph = plimsoll.from_torch(model, (torch.zeros(32, 3, 224, 224), torch.zeros(32, dtype=torch.long)))
        zoo = plimsoll.fit("resnet50", on="RTX 3090", stack="pytorch", precision="fp32", batch=32)
        self.assertEqual(graph.parameters, zoo["model"]["parameters"])
        own, by_rules = (a["memory"][0]["peak_allocated_bytes"] for a in (graph.fit("RTX 3090"), zoo))
        print(f"ResNet-50, 32 pictures: recorded {own / 2**20:.1f} MiB, by rules {by_rules / 2**20:.1f} MiB, "
              f"{100 * (own / by_rules - 1):+.2f} %")
        self.assertAlmostEqual(own / by_rules, 1, delta=0.005)


if __name__ == "__main__":
    unittest.main()
