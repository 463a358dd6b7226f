"""Records one training step of a transformers model on the CPU with torch.profiler, for `plimsoll compare` beside a run of ours.

    python3 bench/against_pytorch/profile_step.py gpt2 -o gpt2.json.gz        # or llama
    plimsoll run SHAPE (printed) --batch 4 --seq 256 --data data/texts/us-constitution.txt --steps 12 -o run.plimsoll
    plimsoll compare run.plimsoll gpt2.json.gz

Modules are recorded with their names, so that steps are matched layer by layer."""
import argparse

import torch
import transformers
from torch.profiler import ProfilerActivity, profile, schedule

SHAPES = {"gpt2": "gpt:layers=4,hidden=256,heads=8,vocab=256,positions=256",
          "llama": "llama:layers=4,hidden=256,heads=8,kv_heads=4,ffn=688,vocab=256,positions=256"}


def model_of(name):
    if name == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(
            n_layer=4, n_embd=256, n_head=8, vocab_size=256, n_positions=256, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False,
            bos_token_id=None, eos_token_id=None))
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        num_hidden_layers=4, hidden_size=256, intermediate_size=688, num_attention_heads=8, num_key_value_heads=4, vocab_size=256,
        max_position_embeddings=256, use_cache=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", choices=SHAPES)
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--plain", action="store_true", help="without the modules' names")
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    model = model_of(options.model).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, 256, (4, 256))

    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=not options.plain,
                 schedule=schedule(wait=2, warmup=1, active=2), on_trace_ready=lambda p: p.export_chrome_trace(options.output)) as profiler:
        for _ in range(5):
            model(input_ids=ids, labels=ids).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    print(SHAPES[options.model])


if __name__ == "__main__":
    main()
