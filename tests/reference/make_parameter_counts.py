"""Builds published architectures on torch's meta device, where nothing is allocated, and counts their parameters.

Writes data/models/parameter_counts.csv, against which tests hold the zoo. Needs torch, torchvision and transformers; the
configurations are those of the models' published config.json files, written out here so that nothing is downloaded.
"""
import csv
import sys

import torch
import torchvision
import transformers as hf


def opt(layers, hidden, heads, **more):
    return hf.OPTConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, ffn_dim=4 * hidden,
                        vocab_size=50272, max_position_embeddings=2048, word_embed_proj_dim=more.pop("embed", hidden), **more)


def bloom(layers, hidden, heads):
    return hf.BloomConfig(n_layer=layers, hidden_size=hidden, n_head=heads, vocab_size=250880)


def neox(layers, hidden, heads, vocab, **more):
    return hf.GPTNeoXConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, vocab_size=vocab,
                            intermediate_size=4 * hidden, max_position_embeddings=2048, **more)


def falcon(layers, hidden, heads, vocab=65024, **more):
    return hf.FalconConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, vocab_size=vocab, **more)


def mpt(layers, hidden, heads, seq=2048):
    return hf.MptConfig(n_layers=layers, d_model=hidden, n_heads=heads, vocab_size=50432, max_seq_len=seq, no_bias=True)


def llama(layers, hidden, heads, kv, ffn, vocab, **more):
    return hf.LlamaConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv,
                          intermediate_size=ffn, vocab_size=vocab, **more)


def qwen3_moe(layers, hidden, heads, kv, experts, width, **more):
    return hf.Qwen3MoeConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv,
                             num_experts=experts, num_experts_per_tok=8, moe_intermediate_size=width, head_dim=128,
                             decoder_sparse_step=1, vocab_size=151936, tie_word_embeddings=False, **more)


def phi3(layers, hidden, heads, kv, ffn, vocab, positions):
    return hf.Phi3Config(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv,
                         intermediate_size=ffn, vocab_size=vocab, max_position_embeddings=positions, pad_token_id=0)


def t5(layers, hidden, heads, head_dim, ffn, gated=False, tied=True, vocab=32128):
    config = hf.T5Config(num_layers=layers, num_decoder_layers=layers, d_model=hidden, num_heads=heads, d_kv=head_dim, d_ff=ffn,
                         vocab_size=vocab, feed_forward_proj="gated-gelu" if gated else "relu")
    config.separate_head = not tied  # transformers 5 takes no such T5 apart: untied there means three tables, not a head of its own
    return config


def switch(experts, layers=12, hidden=768, heads=12, ffn=3072, sparse=6):
    return hf.SwitchTransformersConfig(num_layers=layers, num_decoder_layers=layers, d_model=hidden, num_heads=heads, d_kv=64,
                                       d_ff=ffn, vocab_size=32128, num_experts=experts, num_sparse_encoder_layers=sparse,
                                       num_sparse_decoder_layers=sparse)


def roberta(layers, hidden, heads, vocab, config=hf.RobertaConfig):
    return config(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=4 * hidden,
                  vocab_size=vocab, max_position_embeddings=514, type_vocab_size=1)


def granite(hidden, ffn):
    return hf.GraniteConfig(num_hidden_layers=40, hidden_size=hidden, num_attention_heads=32, num_key_value_heads=8,
                            intermediate_size=ffn, vocab_size=49159, tie_word_embeddings=True)


def starcoder2(layers, hidden, heads, kv, tied=True):
    return hf.Starcoder2Config(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv,
                               intermediate_size=4 * hidden, vocab_size=49152, tie_word_embeddings=tied)


def sized(kind, layers, hidden, heads, kv, ffn, vocab, **more):
    return kind(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv, intermediate_size=ffn,
                vocab_size=vocab, **more)


def gemma2(layers, hidden, heads, kv, head_dim, ffn):
    return sized(hf.Gemma2Config, layers, hidden, heads, kv, ffn, 256000, head_dim=head_dim)


def gemma3(layers, hidden, heads, kv, head_dim, ffn, vocab):
    return sized(hf.Gemma3TextConfig, layers, hidden, heads, kv, ffn, vocab, head_dim=head_dim)


def qwen2_moe(layers, hidden, heads, kv, ffn, width, shared, experts, chosen):
    return sized(hf.Qwen2MoeConfig, layers, hidden, heads, kv, ffn, 151936, moe_intermediate_size=width, num_experts=experts,
                 shared_expert_intermediate_size=shared, num_experts_per_tok=chosen)


def deepseek2(layers, hidden, heads, ffn, width, experts, rank):
    return sized(hf.DeepseekV2Config, layers, hidden, heads, heads, ffn, 102400, moe_intermediate_size=width, n_routed_experts=experts,
                 q_lora_rank=rank, kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128, n_shared_experts=2,
                 num_experts_per_tok=6, first_k_dense_replace=1)


def glm4_moe(layers, hidden, ffn, width, experts, dense, **more):
    return sized(hf.Glm4MoeConfig, layers, hidden, 96, 8, ffn, 151552, head_dim=128, attention_bias=True, moe_intermediate_size=width,
                 n_routed_experts=experts, n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=dense, **more)


def big_code(layers, hidden, heads, positions, vocab):
    return hf.GPTBigCodeConfig(n_layer=layers, n_embd=hidden, n_head=heads, n_inner=4 * hidden, n_positions=positions, vocab_size=vocab)


def language(config):
    kinds = {hf.RobertaConfig: hf.RobertaForMaskedLM, hf.XLMRobertaConfig: hf.XLMRobertaForMaskedLM,
             hf.T5Config: hf.T5ForConditionalGeneration, hf.SwitchTransformersConfig: hf.SwitchTransformersForConditionalGeneration,
             hf.Llama4TextConfig: hf.Llama4ForCausalLM}
    return kinds[type(config)](config) if type(config) in kinds else hf.AutoModelForCausalLM.from_config(config)


MODELS = {
    "gpt2": lambda: hf.GPT2Config(),
    "gpt2-xl": lambda: hf.GPT2Config(n_layer=48, n_embd=1600, n_head=25),
    "opt-125m": lambda: opt(12, 768, 12), "opt-350m": lambda: opt(24, 1024, 16, embed=512, do_layer_norm_before=False),
    "opt-1.3b": lambda: opt(24, 2048, 32), "opt-2.7b": lambda: opt(32, 2560, 32), "opt-6.7b": lambda: opt(32, 4096, 32),
    "opt-13b": lambda: opt(40, 5120, 40), "opt-30b": lambda: opt(48, 7168, 56), "opt-66b": lambda: opt(64, 9216, 72),
    "opt-175b": lambda: opt(96, 12288, 96),
    "bloom-560m": lambda: bloom(24, 1024, 16), "bloom-1b1": lambda: bloom(24, 1536, 16), "bloom-1b7": lambda: bloom(24, 2048, 16),
    "bloom-3b": lambda: bloom(30, 2560, 32), "bloom-7b1": lambda: bloom(30, 4096, 32), "bloom": lambda: bloom(70, 14336, 112),
    "pythia-70m": lambda: neox(6, 512, 8, 50304), "pythia-160m": lambda: neox(12, 768, 12, 50304),
    "pythia-410m": lambda: neox(24, 1024, 16, 50304), "pythia-1b": lambda: neox(16, 2048, 8, 50304),
    "pythia-1.4b": lambda: neox(24, 2048, 16, 50304), "pythia-2.8b": lambda: neox(32, 2560, 32, 50304),
    "pythia-6.9b": lambda: neox(32, 4096, 32, 50432), "pythia-12b": lambda: neox(36, 5120, 40, 50688),
    "gpt-neox-20b": lambda: neox(44, 6144, 64, 50432),
    "gpt-j-6b": lambda: hf.GPTJConfig(),
    "falcon-rw-1b": lambda: falcon(24, 2048, 32, 50304, alibi=True, bias=True, multi_query=False, parallel_attn=False),
    "falcon-7b": lambda: falcon(32, 4544, 71),
    "falcon-40b": lambda: falcon(60, 8192, 128, new_decoder_architecture=True, num_kv_heads=8),
    "falcon-180b": lambda: falcon(80, 14848, 232, new_decoder_architecture=True, num_kv_heads=8),
    "falcon2-11b": lambda: falcon(60, 4096, 32, new_decoder_architecture=True, num_kv_heads=8, ffn_hidden_size=16384,
                                  num_ln_in_parallel_attn=1, tie_word_embeddings=False),
    "mosaicml/mpt-7b": lambda: mpt(32, 4096, 32), "mosaicml/mpt-30b": lambda: mpt(48, 7168, 64, 8192),
    "llama-7b": lambda: llama(32, 4096, 32, 32, 11008, 32000), "llama-65b": lambda: llama(80, 8192, 64, 64, 22016, 32000),
    "llama2-70b": lambda: llama(80, 8192, 64, 8, 28672, 32000), "llama3-8b": lambda: llama(32, 4096, 32, 8, 14336, 128256),
    "llama3.1-405b": lambda: llama(126, 16384, 128, 8, 53248, 128256),
    "llama3.2-1b": lambda: llama(16, 2048, 32, 8, 8192, 128256, tie_word_embeddings=True),
    "tinyllama-1.1b": lambda: llama(22, 2048, 32, 4, 5632, 32000),
    "codellama-34b": lambda: llama(48, 8192, 64, 8, 22016, 32000),
    "yi-6b": lambda: llama(32, 4096, 32, 4, 11008, 64000), "yi-34b": lambda: llama(60, 7168, 56, 8, 20480, 64000),
    "deepseek-llm-7b": lambda: llama(30, 4096, 32, 32, 11008, 102400),
    "deepseek-llm-67b": lambda: llama(95, 8192, 64, 8, 22016, 102400),
    "smollm2-360m": lambda: llama(32, 960, 15, 5, 2560, 49152, tie_word_embeddings=True),
    "mistral-7b": lambda: hf.MistralConfig(),
    "mistral-nemo-12b": lambda: hf.MistralConfig(num_hidden_layers=40, hidden_size=5120, num_attention_heads=32, head_dim=128,
                                                 num_key_value_heads=8, intermediate_size=14336, vocab_size=131072),
    "mixtral-8x7b": lambda: hf.MixtralConfig(),
    "qwen2.5-0.5b": lambda: hf.Qwen2Config(num_hidden_layers=24, hidden_size=896, num_attention_heads=14, num_key_value_heads=2,
                                           intermediate_size=4864, vocab_size=151936, tie_word_embeddings=True),
    "qwen2.5-72b": lambda: hf.Qwen2Config(num_hidden_layers=80, hidden_size=8192, num_attention_heads=64, num_key_value_heads=8,
                                          intermediate_size=29568, vocab_size=152064),
    "qwen3-4b": lambda: hf.Qwen3Config(num_hidden_layers=36, hidden_size=2560, num_attention_heads=32, num_key_value_heads=8,
                                       intermediate_size=9728, vocab_size=151936, head_dim=128, tie_word_embeddings=True),
    "qwen3-30b-a3b": lambda: qwen3_moe(48, 2048, 32, 4, 128, 768),
    "qwen3-235b-a22b": lambda: qwen3_moe(94, 4096, 64, 4, 128, 1536),
    "gemma-2b": lambda: hf.GemmaConfig(num_hidden_layers=18, hidden_size=2048, num_attention_heads=8, num_key_value_heads=1,
                                       intermediate_size=16384, head_dim=256),
    "gemma-7b": lambda: hf.GemmaConfig(),
    "phi-2": lambda: hf.PhiConfig(num_hidden_layers=32, hidden_size=2560, num_attention_heads=32, intermediate_size=10240,
                                  vocab_size=51200),
    "phi-3-mini": lambda: phi3(32, 3072, 32, 32, 8192, 32064, 4096), "phi-3-medium": lambda: phi3(40, 5120, 40, 10, 17920, 32064, 4096),
    "phi-4": lambda: phi3(40, 5120, 40, 10, 17920, 100352, 16384),
    "stablelm-3b-4e1t": lambda: hf.StableLmConfig(),
    "stablelm-2-1.6b": lambda: hf.StableLmConfig(num_hidden_layers=24, hidden_size=2048, num_attention_heads=32, num_key_value_heads=32,
                                                 intermediate_size=5632, vocab_size=100352, use_qkv_bias=True),
    "t5-small": lambda: t5(6, 512, 8, 64, 2048), "t5-base": lambda: t5(12, 768, 12, 64, 3072), "t5-large": lambda: t5(24, 1024, 16, 64, 4096),
    "t5-3b": lambda: t5(24, 1024, 32, 128, 16384), "t5-11b": lambda: t5(24, 1024, 128, 128, 65536),
    "flan-t5-small": lambda: t5(8, 512, 6, 64, 1024, True, False), "flan-t5-base": lambda: t5(12, 768, 12, 64, 2048, True, False),
    "flan-t5-large": lambda: t5(24, 1024, 16, 64, 2816, True, False), "flan-t5-xl": lambda: t5(24, 2048, 32, 64, 5120, True, False),
    "flan-t5-xxl": lambda: t5(24, 4096, 64, 64, 10240, True, False),
    "switch-base-8": lambda: switch(8), "switch-base-64": lambda: switch(64), "switch-base-128": lambda: switch(128),
    "roberta-base": lambda: roberta(12, 768, 12, 50265), "roberta-large": lambda: roberta(24, 1024, 16, 50265),
    "xlm-roberta-base": lambda: roberta(12, 768, 12, 250002, hf.XLMRobertaConfig),
    "xlm-roberta-large": lambda: roberta(24, 1024, 16, 250002, hf.XLMRobertaConfig),
    "granite-3.3-2b": lambda: granite(2048, 8192), "granite-3.3-8b": lambda: granite(4096, 12800),
    "starcoder2-3b": lambda: starcoder2(30, 3072, 24, 2), "starcoder2-7b": lambda: starcoder2(32, 4608, 36, 4),
    "starcoder2-15b": lambda: starcoder2(40, 6144, 48, 4, False),
    "gemma-2-2b": lambda: gemma2(26, 2304, 8, 4, 256, 9216), "gemma-2-9b": lambda: gemma2(42, 3584, 16, 8, 256, 14336),
    "gemma-2-27b": lambda: gemma2(46, 4608, 32, 16, 128, 36864),
    "gemma-3-270m": lambda: gemma3(18, 640, 4, 1, 256, 2048, 262144), "gemma-3-1b": lambda: gemma3(26, 1152, 4, 1, 256, 6912, 262144),
    "gemma-3-4b": lambda: gemma3(34, 2560, 8, 4, 256, 10240, 262208), "gemma-3-12b": lambda: gemma3(48, 3840, 16, 8, 256, 15360, 262208),
    "gemma-3-27b": lambda: gemma3(62, 5376, 32, 16, 128, 21504, 262208),
    "olmo-1b": lambda: sized(hf.OlmoConfig, 16, 2048, 16, 16, 8192, 50304, tie_word_embeddings=True),
    "olmo-7b": lambda: sized(hf.OlmoConfig, 32, 4096, 32, 32, 11008, 50304),
    "olmo-2-1b": lambda: sized(hf.Olmo2Config, 16, 2048, 16, 16, 8192, 100352),
    "olmo-2-7b": lambda: sized(hf.Olmo2Config, 32, 4096, 32, 32, 11008, 100352),
    "olmo-2-13b": lambda: sized(hf.Olmo2Config, 40, 5120, 40, 40, 13824, 100352),
    "olmo-2-32b": lambda: sized(hf.Olmo2Config, 64, 5120, 40, 8, 27648, 100352),
    "olmoe-1b-7b": lambda: sized(hf.OlmoeConfig, 16, 2048, 16, 16, 1024, 50304, num_experts=64, num_experts_per_tok=8),
    "qwen1.5-moe-a2.7b": lambda: qwen2_moe(24, 2048, 16, 16, 5632, 1408, 5632, 60, 4),
    "qwen2-57b-a14b": lambda: qwen2_moe(28, 3584, 28, 4, 18944, 2560, 20480, 64, 8),
    "gpt-oss-20b": lambda: hf.GptOssConfig(num_hidden_layers=24, num_local_experts=32), "gpt-oss-120b": lambda: hf.GptOssConfig(),
    "deepseek-v2-lite": lambda: deepseek2(27, 2048, 16, 10944, 1408, 64, None),
    "deepseek-v2": lambda: deepseek2(60, 5120, 128, 12288, 1536, 160, 1536), "deepseek-v3": lambda: hf.DeepseekV3Config(),
    "starcoder": lambda: big_code(40, 6144, 48, 8192, 49152), "santacoder": lambda: big_code(24, 2048, 16, 2048, 49280),
    "command-r": lambda: sized(hf.CohereConfig, 40, 8192, 64, 64, 22528, 256000),
    "mistral-large-123b": lambda: sized(hf.MistralConfig, 88, 12288, 96, 8, 28672, 32768),
    "codestral-22b": lambda: sized(hf.MistralConfig, 56, 6144, 48, 8, 16384, 32768),
    "ministral-8b": lambda: sized(hf.MistralConfig, 36, 4096, 32, 8, 12288, 131072),
    "phi-4-mini": lambda: sized(hf.Phi3Config, 32, 3072, 24, 8, 8192, 200064, tie_word_embeddings=True),
    "smollm3-3b": lambda: sized(hf.SmolLM3Config, 36, 2048, 16, 4, 11008, 128256, tie_word_embeddings=True),
    "seed-oss-36b": lambda: sized(hf.SeedOssConfig, 64, 5120, 80, 8, 27648, 155136, head_dim=128),
    "olmo-3-7b": lambda: sized(hf.Olmo3Config, 32, 4096, 32, 32, 11008, 100278),
    "olmo-3-32b": lambda: sized(hf.Olmo3Config, 64, 5120, 40, 8, 27648, 100278),
    "glm-4.5-air": lambda: glm4_moe(46, 4096, 10944, 1408, 128, 1),
    "glm-4.5": lambda: glm4_moe(92, 5120, 12288, 1536, 160, 3, use_qk_norm=True),
    "kimi-k2": lambda: hf.DeepseekV3Config(num_attention_heads=64, num_key_value_heads=64, n_routed_experts=384, first_k_dense_replace=1,
                                           vocab_size=163840),
    "llama4-scout": lambda: hf.Llama4TextConfig(),
    "llama4-maverick": lambda: hf.Llama4TextConfig(num_local_experts=128, interleave_moe_layer_step=2),
}

IMAGES = ["resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "wide_resnet50_2", "wide_resnet101_2", "resnext50_32x4d",
          "resnext101_32x8d", "vgg11", "vgg13", "vgg16", "vgg19", "vgg11_bn", "vgg13_bn", "vgg16_bn", "vgg19_bn", "densenet121",
          "densenet161", "densenet169", "densenet201", "vit_b_16", "vit_l_16", "vit_h_14"]


def count(model):
    return sum(p.numel() for p in {id(p): p for p in model.parameters()}.values())


def rows():
    for name, config in MODELS.items():
        config = config()
        with torch.device("meta"):
            model = language(config)
            model.tie_weights()
            if getattr(config, "separate_head", False):
                model.lm_head = torch.nn.Linear(config.d_model, config.vocab_size, bias=False)
        yield name, count(model), f"transformers {hf.__version__}: {type(model).__name__}"
    for name in IMAGES:
        with torch.device("meta"):
            model = torchvision.models.get_model(name)
        yield name, count(model), f"torchvision {torchvision.__version__}: {name}"


def main():
    with open(sys.argv[1], "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["model", "parameters", "origin"])
        for row in rows():
            writer.writerow(row)
            print(*row, file=sys.stderr)


if __name__ == "__main__":
    main()
