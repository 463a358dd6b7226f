#include <algorithm>
#include <catch2/catch.hpp>

#include "formats/models/hf_config.h"
#include "formats/models/hf_tensors.h"
#include "core/model/parameters.h"
#include "formats/models/model_zoo.h"

namespace plimsoll {
namespace {

// The keys that transformers reads, as the files on Hugging Face have them.
const std::pair<const char*, const char*> kFiles[] = {
    {"opt-125m", R"({"_remove_final_layer_norm": false, "activation_dropout": 0.0, "activation_function": "relu",
      "architectures": ["OPTForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": true,
      "dropout": 0.1, "eos_token_id": 2, "ffn_dim": 3072, "hidden_size": 768, "init_std": 0.02, "layerdrop": 0.0,
      "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 12, "num_hidden_layers": 12,
      "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16", "use_cache": true, "vocab_size": 50272,
      "word_embed_proj_dim": 768})"},
    {"opt-350m", R"({"_remove_final_layer_norm": false, "activation_function": "relu", "architectures": ["OPTForCausalLM"],
      "attention_dropout": 0.0, "do_layer_norm_before": false, "dropout": 0.1, "ffn_dim": 4096, "hidden_size": 1024,
      "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 16,
      "num_hidden_layers": 24, "vocab_size": 50272, "word_embed_proj_dim": 512})"},
    {"bloom-560m", R"({"apply_residual_connection_post_layernorm": false, "architectures": ["BloomForCausalLM"],
      "attention_dropout": 0.0, "attention_softmax_in_fp32": true, "bias_dropout_fusion": true, "bos_token_id": 1,
      "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": true,
      "model_type": "bloom", "n_embed": 1024, "n_inner": null, "n_layer": 24, "num_attention_heads": 16, "offset_alibi": 100,
      "pretraining_tp": 1, "seq_length": 2048, "skip_bias_add": true, "skip_bias_add_qkv": false, "slow_but_exact": false,
      "unk_token_id": 0, "use_cache": true, "vocab_size": 250880})"},
    {"pythia-410m", R"({"architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
      "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 4096, "layer_norm_eps": 1e-05,
      "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 16, "num_hidden_layers": 24,
      "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16",
      "use_cache": true, "use_parallel_residual": true, "vocab_size": 50304})"},
    {"gpt-j-6b", R"({"activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop": 0.0,
      "embd_pdrop": 0.0, "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_layer": 28,
      "n_positions": 2048, "resid_pdrop": 0.0, "rotary": true, "rotary_dim": 64, "scale_attn_weights": true,
      "tie_word_embeddings": false, "use_cache": true, "vocab_size": 50400})"},
    {"falcon-7b", R"({"alibi": false, "apply_residual_connection_post_layernorm": false, "architectures": ["FalconForCausalLM"],
      "attention_dropout": 0.0, "bias": false, "hidden_dropout": 0.0, "hidden_size": 4544, "layer_norm_epsilon": 1e-05,
      "model_type": "falcon", "multi_query": true, "new_decoder_architecture": false, "num_attention_heads": 71,
      "num_hidden_layers": 32, "parallel_attn": true, "torch_dtype": "bfloat16", "vocab_size": 65024})"},
    {"falcon-40b", R"({"alibi": false, "architectures": ["FalconForCausalLM"], "attention_dropout": 0.0, "bias": false,
      "hidden_dropout": 0.0, "hidden_size": 8192, "layer_norm_epsilon": 1e-05, "model_type": "falcon",
      "new_decoder_architecture": true, "num_attention_heads": 128, "num_hidden_layers": 60, "num_kv_heads": 8,
      "parallel_attn": true, "vocab_size": 65024})"},
    {"mosaicml/mpt-7b", R"({"architectures": ["MPTForCausalLM"], "attn_config": {"alibi": true, "alibi_bias_max": 8,
      "attn_impl": "torch", "attn_pdrop": 0, "attn_type": "multihead_attention", "attn_uses_sequence_id": false,
      "clip_qkv": null, "prefix_lm": false, "qk_ln": false, "softmax_scale": null}, "d_model": 4096, "emb_pdrop": 0,
      "embedding_fraction": 1.0, "expansion_ratio": 4, "init_device": "cpu", "learned_pos_emb": true, "logit_scale": null,
      "max_seq_len": 2048, "model_type": "mpt", "n_heads": 32, "n_layers": 32, "no_bias": true,
      "norm_type": "low_precision_layernorm", "resid_pdrop": 0, "use_cache": false, "verbose": 0, "vocab_size": 50432})"},
    {"qwen-7b", R"({"architectures": ["QWenLMHeadModel"], "attn_dropout_prob": 0.0, "bf16": false, "emb_dropout_prob": 0.0,
      "fp16": false, "fp32": false, "hidden_size": 4096, "intermediate_size": 22016, "kv_channels": 128,
      "layer_norm_epsilon": 1e-06, "max_position_embeddings": 8192, "model_type": "qwen", "no_bias": true,
      "num_attention_heads": 32, "num_hidden_layers": 32, "onnx_safe": null, "rotary_emb_base": 10000, "rotary_pct": 1.0,
      "scale_attn_weights": true, "seq_length": 8192, "tie_word_embeddings": false, "use_cache": true,
      "use_dynamic_ntk": true, "use_flash_attn": "auto", "use_logn_attn": true, "vocab_size": 151936})"},
    {"phi-3-mini", R"({"architectures": ["Phi3ForCausalLM"], "attention_dropout": 0.0, "embd_pdrop": 0.0, "hidden_act": "silu",
      "hidden_size": 3072, "intermediate_size": 8192, "max_position_embeddings": 4096, "model_type": "phi3",
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "original_max_position_embeddings": 4096,
      "resid_pdrop": 0.0, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0, "sliding_window": 2047,
      "tie_word_embeddings": false, "vocab_size": 32064})"},
    {"stablelm-2-1.6b", R"({"architectures": ["StableLmForCausalLM"], "hidden_act": "silu", "hidden_size": 2048,
      "intermediate_size": 5632, "layer_norm_eps": 1e-05, "max_position_embeddings": 4096, "model_type": "stablelm",
      "num_attention_heads": 32, "num_hidden_layers": 24, "num_key_value_heads": 32, "partial_rotary_factor": 0.25,
      "rope_theta": 10000, "tie_word_embeddings": false, "use_qkv_bias": true, "vocab_size": 100352})"},
    {"t5-large", R"({"architectures": ["T5ForConditionalGeneration"], "d_ff": 4096, "d_kv": 64, "d_model": 1024,
      "decoder_start_token_id": 0, "dropout_rate": 0.1, "initializer_factor": 1.0, "is_encoder_decoder": true,
      "layer_norm_epsilon": 1e-06, "model_type": "t5", "n_positions": 512, "num_heads": 16, "num_layers": 24,
      "relative_attention_num_buckets": 32, "vocab_size": 32128})"},
    {"flan-t5-xl", R"({"architectures": ["T5ForConditionalGeneration"], "d_ff": 5120, "d_kv": 64, "d_model": 2048,
      "dropout_rate": 0.1, "feed_forward_proj": "gated-gelu", "is_encoder_decoder": true, "is_gated_act": true,
      "layer_norm_epsilon": 1e-06, "model_type": "t5", "num_decoder_layers": 24, "num_heads": 32, "num_layers": 24,
      "relative_attention_max_distance": 128, "relative_attention_num_buckets": 32, "tie_word_embeddings": false,
      "vocab_size": 32128})"},
    {"switch-base-8", R"({"architectures": ["SwitchTransformersForConditionalGeneration"], "d_ff": 3072, "d_kv": 64,
      "d_model": 768, "decoder_sparse_step": 2, "dropout_rate": 0.0, "encoder_sparse_step": 2, "expert_capacity": 64,
      "feed_forward_proj": "relu", "is_encoder_decoder": true, "layer_norm_epsilon": 1e-06,
      "model_type": "switch_transformers", "num_decoder_layers": 12, "num_experts": 8, "num_heads": 12, "num_layers": 12,
      "num_sparse_decoder_layers": 6, "num_sparse_encoder_layers": 6, "router_type": "tokens_masked", "vocab_size": 32128})"},
};

TEST_CASE("the config.json of OPT, BLOOM, NeoX, GPT-J, Falcon, MPT, Qwen 1, Phi 3, StableLM and T5 give the zoo's models") {
  for (const auto& [name, text] : kFiles) {
    CAPTURE(name);
    const auto found = parse_hf_config(text, "config.json", name);
    if (!found) FAIL(found.error().text());
    CHECK(canonical_text(found->spec) == canonical_text(find_in_zoo(name)->spec));
    for (const ModelNote& note : found->notes) {
      CAPTURE(note.text);
      CHECK_FALSE(note.changes_numbers);
      CHECK(note.text.find("unknown") == std::string::npos);
    }
  }
}

std::string refusal(const std::string& text) {
  const auto found = parse_hf_config(text, "dir/config.json", "m");
  return found ? "accepted" : found.error().text();
}

TEST_CASE("what these families' files contradict or ask for in vain is refused with the file, the key and a remedy") {
  const std::string opt = R"({"model_type": "opt", "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "ffn_dim": 128)";
  CHECK_THAT(refusal(opt + "}"), Catch::Contains("dir/config.json") && Catch::Contains("'num_attention_heads' is missing"));
  CHECK_THAT(refusal(opt + R"(, "num_attention_heads": 5})"), Catch::Contains("not a multiple of 5 heads"));
  CHECK_THAT(refusal(opt + R"(, "num_attention_heads": 4, "enable_bias": false})"), Catch::Contains("'enable_bias'"));
  CHECK_THAT(refusal(opt + R"(, "num_attention_heads": 4, "activation_function": "mish"})"),
             Catch::Contains("'mish'") && Catch::Contains("relu"));
  const std::string mpt = R"({"model_type": "mpt", "vocab_size": 100, "d_model": 64, "n_layers": 2, "n_heads": 4)";
  CHECK_THAT(refusal(mpt + R"(, "attn_config": {"qk_ln": true}})"), Catch::Contains("'qk_ln'"));
  CHECK_THAT(refusal(mpt + R"(, "learned_pos_emb": false})"), Catch::Contains("without positions"));
  CHECK_THAT(refusal(mpt + R"(, "expansion_ratio": "4"})"), Catch::Contains("'expansion_ratio'"));
  const std::string t5 = R"({"model_type": "t5", "vocab_size": 100, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2)";
  CHECK_THAT(refusal(t5 + "}"), Catch::Contains("'num_heads' is missing"));
  CHECK_THAT(refusal(t5 + R"(, "num_heads": 4, "feed_forward_proj": "swish"})"), Catch::Contains("'swish'"));
  CHECK_THAT(refusal(R"({"model_type": "mamba"})"), Catch::Contains("'mamba'") && Catch::Contains("falcon"));
}

TEST_CASE("a T5's buckets are of distances up to 128, and a file that does not scale its output has a head of its own") {
  const std::string t5 =
      R"({"model_type": "t5", "vocab_size": 100, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4)";
  const auto read = [&](const std::string& more) { return parse_hf_config(t5 + more + "}", "c", "m"); };
  REQUIRE(read(""));
  CHECK(read("")->spec.tied_head);
  CHECK(read(R"(, "scale_decoder_outputs": true, "tie_word_embeddings": true)")->spec.tied_head);
  CHECK_FALSE(read(R"(, "scale_decoder_outputs": false, "tie_word_embeddings": true)")->spec.tied_head);
  CHECK_FALSE(read(R"(, "tie_word_embeddings": false)")->spec.tied_head);
  for (const char* buckets : {"0", "3", "256", "-1", "1e300", "\"32\""}) {
    CAPTURE(buckets);
    CHECK_FALSE(read(std::string(R"(, "relative_attention_num_buckets": )") + buckets));
  }
  const auto far = read(R"(, "relative_attention_max_distance": 256)");
  REQUIRE(far);
  CHECK(far->spec.other_arithmetic);  // which run refuses
  const bool said = std::any_of(far->notes.begin(), far->notes.end(), [](const ModelNote& note) { return note.changes_numbers; });
  CHECK(said);
}

TEST_CASE("an MPT's biases and positions are what its file says") {
  const std::string mpt = R"({"model_type": "mpt", "vocab_size": 100, "d_model": 64, "n_layers": 2, "n_heads": 4)";
  const ModelSpec learned = parse_hf_config(mpt + R"(, "no_bias": false})", "c", "m")->spec;
  CHECK(learned.positions == PositionKind::kLearned);
  CHECK(learned.norm_bias);
  const ModelSpec alibi = parse_hf_config(mpt + R"(, "attn_config": {"alibi": true}})", "c", "m")->spec;
  CHECK(alibi.positions == PositionKind::kAlibi);
  CHECK_FALSE(alibi.norm_bias);
}

TEST_CASE("weights of a family whose tensors are not known are refused by name, and those of Phi 3, StableLM and T5 are all listed") {
  for (const char* name : {"opt-125m", "bloom-560m", "pythia-70m", "switch-base-8", "resnet18"}) {
    const auto known = check_hf_names(find_in_zoo(name)->spec);
    REQUIRE_FALSE(known);
    CHECK_THAT(known.error().text(), Catch::Contains(name));
  }
  for (const char* name : {"phi-3-mini", "stablelm-2-1.6b", "t5-base", "flan-t5-xl"}) {
    CAPTURE(name);
    const ModelSpec spec = find_in_zoo(name)->spec;
    REQUIRE(check_hf_names(spec));
    std::int64_t elements = 0;
    for (const HfTensor& tensor : hf_tensors(spec)) elements += tensor.elements();
    CHECK(elements == parameter_count(spec));
    const auto text = write_hf_config(spec);
    REQUIRE(text);
    const auto read = parse_hf_config(*text, "c", name);
    if (!read) FAIL(read.error().text());
    CHECK(canonical_text(read->spec) == canonical_text(spec));
  }
}

}  // namespace
}  // namespace plimsoll
