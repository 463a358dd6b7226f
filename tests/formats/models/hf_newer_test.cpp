#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "core/graph/buildable.h"
#include "core/model/foreign_feature.h"
#include "core/model/parameters.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_tensors.h"
#include "formats/models/model_zoo.h"

namespace plimsoll {
namespace {

struct Published {
  const char* zoo;  // the model of that name has the same shape
  const char* text;
};

// The keys that transformers reads, as the files on Hugging Face have them. Counts are the zoo's, which
// parameter_counts_test.cpp holds against transformers 5.23.0.
const Published kFiles[] = {
    {"gemma-2-2b",
     R"({"architectures": ["Gemma2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "attn_logit_softcapping": 50.0, "cache_implementation": "hybrid", "final_logit_softcapping": 30.0, "head_dim": 256,
      "hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304,
      "intermediate_size": 9216, "max_position_embeddings": 8192, "model_type": "gemma2", "num_attention_heads": 8,
      "num_hidden_layers": 26, "num_key_value_heads": 4, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06,
      "rope_theta": 10000.0, "sliding_window": 4096, "vocab_size": 256000})"},
    {"gemma-3-1b",
     R"({"architectures": ["Gemma3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
      "attn_logit_softcapping": null, "cache_implementation": "hybrid", "final_logit_softcapping": null, "head_dim": 256,
      "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 1152, "intermediate_size": 6912,
      "max_position_embeddings": 32768, "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 26,
      "num_key_value_heads": 1, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
      "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6, "vocab_size": 262144})"},
    {"gemma-3-4b",
     R"({"architectures": ["Gemma3ForConditionalGeneration"], "boi_token_index": 255999, "mm_tokens_per_image": 256,
      "model_type": "gemma3", "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
      "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024,
      "rope_theta": 1000000}, "vision_config": {"hidden_size": 1152}})"},
    {"olmo-1b",
     R"({"architectures": ["OlmoForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "clip_qkv": null,
      "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192, "max_position_embeddings": 2048,
      "model_type": "olmo", "num_attention_heads": 16, "num_hidden_layers": 16, "num_key_value_heads": 16,
      "rope_scaling": null, "rope_theta": 10000.0, "tie_word_embeddings": true, "vocab_size": 50304})"},
    {"olmo-2-7b",
     R"({"architectures": ["Olmo2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
      "hidden_size": 4096, "intermediate_size": 11008, "max_position_embeddings": 4096, "model_type": "olmo2",
      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32, "rms_norm_eps": 1e-06,
      "rope_scaling": null, "rope_theta": 500000, "tie_word_embeddings": false, "vocab_size": 100352})"},
    {"olmoe-1b-7b",
     R"({"architectures": ["OlmoeForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "clip_qkv": null,
      "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 1024, "max_position_embeddings": 4096,
      "model_type": "olmoe", "norm_topk_prob": false, "num_attention_heads": 16, "num_experts": 64,
      "num_experts_per_tok": 8, "num_hidden_layers": 16, "num_key_value_heads": 16, "output_router_logits": false,
      "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0, "router_aux_loss_coef": 0.01,
      "tie_word_embeddings": false, "vocab_size": 50304})"},
    {"qwen1.5-moe-a2.7b",
     R"({"architectures": ["Qwen2MoeForCausalLM"], "attention_dropout": 0.0, "decoder_sparse_step": 1, "hidden_act": "silu",
      "hidden_size": 2048, "intermediate_size": 5632, "max_position_embeddings": 8192, "max_window_layers": 21,
      "model_type": "qwen2_moe", "moe_intermediate_size": 1408, "norm_topk_prob": false, "num_attention_heads": 16,
      "num_experts": 60, "num_experts_per_tok": 4, "num_hidden_layers": 24, "num_key_value_heads": 16,
      "output_router_logits": false, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001,
      "shared_expert_intermediate_size": 5632, "sliding_window": 32768, "tie_word_embeddings": false,
      "use_sliding_window": false, "vocab_size": 151936})"},
    {"gpt-oss-20b",
     R"({"architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0, "experts_per_token": 4,
      "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880, "initial_context_length": 4096, "intermediate_size": 2880,
      "max_position_embeddings": 131072, "model_type": "gpt_oss", "num_attention_heads": 64, "num_experts_per_tok": 4,
      "num_hidden_layers": 24, "num_key_value_heads": 8, "num_local_experts": 32, "output_router_logits": false,
      "quantization_config": {"quant_method": "mxfp4"}, "rms_norm_eps": 1e-05, "rope_scaling": {"beta_fast": 32.0,
      "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096, "rope_type": "yarn", "truncate": false},
      "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128, "swiglu_limit": 7.0,
      "tie_word_embeddings": false, "vocab_size": 201088})"},
    {"deepseek-v2-lite",
     R"({"architectures": ["DeepseekV2ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "aux_loss_alpha": 0.001,
      "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 10944, "kv_lora_rank": 512,
      "max_position_embeddings": 163840, "model_type": "deepseek_v2", "moe_intermediate_size": 1408, "moe_layer_freq": 1,
      "n_group": 1, "n_routed_experts": 64, "n_shared_experts": 2, "norm_topk_prob": false, "num_attention_heads": 16,
      "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16, "q_lora_rank": null,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_theta": 10000,
      "routed_scaling_factor": 1.0, "scoring_func": "softmax", "seq_aux": true, "tie_word_embeddings": false,
      "topk_group": 1, "topk_method": "greedy", "v_head_dim": 128, "vocab_size": 102400})"},
    {"deepseek-v3",
     R"({"architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "ep_size": 1,
      "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
      "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048, "moe_layer_freq": 1,
      "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 128,
      "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128, "num_nextn_predict_layers": 1,
      "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"fmt": "e4m3"},
      "rms_norm_eps": 1e-06, "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
      "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280})"},
    {"olmo-3-32b",  // layers of one kind in turn, and a rotation that is not applied
     R"({"architectures": ["Olmo3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
      "hidden_size": 5120, "intermediate_size": 27648, "max_position_embeddings": 65536, "model_type": "olmo3",
      "num_attention_heads": 40, "num_hidden_layers": 64, "num_key_value_heads": 8, "rms_norm_eps": 1e-06,
      "rope_scaling": {"attention_factor": 1.2079441541679836, "beta_fast": 32, "beta_slow": 1, "factor": 8.0,
      "original_max_position_embeddings": 8192, "rope_type": "yarn"}, "rope_theta": 500000, "sliding_window": 4096,
      "tie_word_embeddings": false, "vocab_size": 100278})"},
    {"glm-4.5-air",
     R"({"architectures": ["Glm4MoeForCausalLM"], "attention_bias": true, "attention_dropout": 0.0, "head_dim": 128,
      "hidden_act": "silu", "hidden_size": 4096, "partial_rotary_factor": 0.5, "intermediate_size": 10944,
      "max_position_embeddings": 131072, "model_type": "glm4_moe", "moe_intermediate_size": 1408, "norm_topk_prob": true,
      "num_attention_heads": 96, "n_group": 1, "topk_group": 1, "n_routed_experts": 128, "n_shared_experts": 1,
      "routed_scaling_factor": 1.0, "num_experts_per_tok": 8, "first_k_dense_replace": 1, "num_hidden_layers": 46,
      "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 1000000,
      "num_nextn_predict_layers": 1, "tie_word_embeddings": false, "use_qk_norm": false, "vocab_size": 151552})"},
    {"kimi-k2",
     R"({"architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "aux_loss_alpha": 0.001,
      "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, "ep_size": 1, "first_k_dense_replace": 1,
      "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
      "max_position_embeddings": 131072, "model_type": "kimi_k2", "moe_intermediate_size": 2048, "moe_layer_freq": 1,
      "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 64,
      "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64, "num_nextn_predict_layers": 0,
      "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "quantization_config": {"fmt": "e4m3"},
      "rms_norm_eps": 1e-06, "rope_scaling": {"factor": 32.0, "type": "yarn"}, "rope_theta": 50000.0,
      "routed_scaling_factor": 2.827, "scoring_func": "sigmoid", "seq_aux": true, "tie_word_embeddings": false,
      "topk_group": 1, "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 163840})"},
    {"starcoder",
     R"({"activation_function": "gelu", "architectures": ["GPTBigCodeForCausalLM"], "attention_softmax_in_fp32": true,
      "attn_pdrop": 0.1, "embd_pdrop": 0.1, "layer_norm_epsilon": 1e-05, "model_type": "gpt_bigcode", "multi_query": true,
      "n_embd": 6144, "n_head": 48, "n_inner": 24576, "n_layer": 40, "n_positions": 8192, "resid_pdrop": 0.1,
      "scale_attention_softmax_in_fp32": true, "scale_attn_weights": true, "vocab_size": 49152})"},
    {"command-r",
     R"({"architectures": ["CohereForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
      "hidden_size": 8192, "intermediate_size": 22528, "layer_norm_eps": 1e-05, "logit_scale": 0.0625,
      "max_position_embeddings": 131072, "model_type": "cohere", "num_attention_heads": 64, "num_hidden_layers": 40,
      "num_key_value_heads": 64, "rope_theta": 8000000.0, "use_qk_norm": false, "vocab_size": 256000})"},
    {"llama4-maverick",
     R"({"architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4", "text_config": {"attention_bias": false,
      "attention_chunk_size": 8192, "attention_dropout": 0.0, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
      "interleave_moe_layer_step": 2, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
      "max_position_embeddings": 1048576, "model_type": "llama4_text", "num_attention_heads": 40,
      "num_experts_per_tok": 1, "num_hidden_layers": 48, "num_key_value_heads": 8, "num_local_experts": 128,
      "output_router_logits": false, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0,
      "router_aux_loss_coef": 0.001, "router_jitter_noise": 0.0, "use_qk_norm": false, "vocab_size": 202048}})"},
};

std::string text_of(const char* zoo) { return std::ranges::find(kFiles, std::string_view(zoo), &Published::zoo)->text; }

Result<ModelDescription> parsed(const std::string& text) { return parse_hf_config(text, "config.json", "m"); }

ModelSpec spec_of(const char* zoo) { return parsed(text_of(zoo)).value().spec; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("newer families' files are read with all their keys, and are the zoo's models") {
  for (const Published& file : kFiles) {
    INFO(file.zoo);
    const auto found = parsed(file.text);
    REQUIRE(found);
    for (const ModelNote& note : found->notes) {
      INFO(note.text);
      CHECK(note.text.find("is unknown") == std::string::npos);
    }
    const auto zoo = find_in_zoo(file.zoo);
    REQUIRE(zoo);
    CHECK(parameter_count(found->spec) == zoo->parameters);
    CHECK(found->spec.window == zoo->spec.window);
    CHECK(found->spec.full_every == zoo->spec.full_every);
    CHECK(found->spec.latent == zoo->spec.latent);
    CHECK(found->spec.experts == zoo->spec.experts);
  }
}

TEST_CASE("blocks of Gemma 3 with the window turn by a base of their own, every sixth sees all") {
  const ModelSpec spec = spec_of("gemma-3-1b");
  CHECK(spec.has_window(0));
  CHECK_FALSE(spec.has_window(5));
  CHECK(spec.has_window(6));
  CHECK(spec.theta_of(0) == 10000);
  CHECK(spec.theta_of(5) == 1e6);
  // What transformers 5 writes of the same.
  const std::string newer = replaced(
      text_of("gemma-3-1b"), R"("rope_local_base_freq": 10000,
      "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6)",
      R"("rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 1000000.0}, "sliding_attention":
      {"rope_type": "default", "rope_theta": 10000.0}}, "sliding_window": 512)");
  CHECK(parsed(newer).value().spec == spec);
}

TEST_CASE("of OLMo 3's blocks three have the window and the fourth sees all, with one rotation or two in the file") {
  const ModelSpec spec = spec_of("olmo-3-32b");
  CHECK(spec.has_window(2));
  CHECK_FALSE(spec.has_window(3));
  CHECK(spec.other_arithmetic);
  const std::string yarn = R"("rope_scaling": {"attention_factor": 1.2079441541679836, "beta_fast": 32, "beta_slow": 1, "factor": 8.0,
      "original_max_position_embeddings": 8192, "rope_type": "yarn"}, "rope_theta": 500000)";
  const auto rotated = [&](const std::string& rotation) { return parsed(replaced(text_of("olmo-3-32b"), yarn, rotation)).value().spec; };
  CHECK_FALSE(rotated(R"("rope_theta": 500000)").other_arithmetic);
  const ModelSpec two = rotated(R"("rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0,
      "rope_theta": 500000.0}, "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0}})");
  CHECK_FALSE(two.other_arithmetic);
  CHECK(two.local_rope_theta == 500000);
  CHECK(two.rope_scaling == RopeScaling{.kind = RopeScalingKind::kLinear, .factor = 8});
  const ModelSpec older = rotated(R"("rope_scaling": {"rope_type": "linear", "factor": 8.0}, "rope_theta": 500000)");
  CHECK(older == two);
}

TEST_CASE("what a file of several modalities says of all its parts is said of its text") {
  const std::string untied = replaced(text_of("gemma-3-4b"), "\"model_type\": \"gemma3\"",
                                      "\"model_type\": \"gemma3\", \"tie_word_embeddings\": false");
  CHECK(spec_of("gemma-3-4b").tied_head);
  CHECK_FALSE(parsed(untied).value().spec.tied_head);
}

TEST_CASE("of Gemma 3's two rotations each has its base where the file is silent, and none is stretched unseen") {
  const auto rotated = [](const std::string& full, const std::string& sliding, const std::string& more = {}) {
    return parsed(replaced(text_of("gemma-3-1b"), R"("rope_local_base_freq": 10000,
      "rope_scaling": null, "rope_theta": 1000000,)",
                           R"("rope_parameters": {"full_attention": )" + full + R"(, "sliding_attention": )" + sliding +
                               "}," + more));
  };
  const std::string plain = R"({"rope_type": "default"})", linear = R"({"rope_type": "linear", "factor": 8.0})";
  const ModelSpec silent = rotated(plain, "null").value().spec;
  CHECK(silent.rope_theta == 1e6);
  CHECK(silent.local_rope_theta == 1e4);
  const ModelSpec scaled = rotated(linear, plain).value().spec;
  CHECK(scaled.rope_scaling == RopeScaling{.kind = RopeScalingKind::kLinear, .factor = 8});
  CHECK_FALSE(scaled.other_arithmetic);
  CHECK(rotated(plain, linear).value().spec.other_arithmetic);
  CHECK(rotated(plain, R"({"rope_type": "yarn", "factor": 8.0})").value().spec.other_arithmetic);
  const std::string stated = R"({"rope_type": "default", "rope_theta": 500000.0})";
  CHECK_FALSE(rotated(stated, plain, R"("rope_theta": 1000000,)"));
  CHECK_FALSE(rotated(plain, stated, R"("rope_local_base_freq": 10000,)"));
  CHECK_FALSE(rotated(plain, R"({"rope_theta": 0})"));
}

TEST_CASE("what plimsoll's own step does otherwise than a newer family is refused by name, the rest is built") {
  const Recipe recipe{.sequence = 128};
  const std::pair<const char*, const char*> refused[] = {{"gemma-2-2b", "caps attention scores"},
                                                         {"olmo-1b", "norms without weights"},
                                                         {"olmoe-1b-7b", "do not sum to 1"},
                                                         {"qwen1.5-moe-a2.7b", "every token"},
                                                         {"gpt-oss-20b", "sinks"},
                                                         {"deepseek-v2-lite", "latent attention"},
                                                         {"deepseek-v3", "latent attention"},
                                                         {"llama4-maverick", "every token passes"},
                                                         {"glm-4.5-air", "every token passes"},
                                                         {"kimi-k2", "latent attention"}};
  for (const auto& [zoo, what] : refused) {
    INFO(zoo);
    const auto built = check_buildable(spec_of(zoo), recipe);
    REQUIRE_FALSE(built);
    CHECK_THAT(built.error().text(), Catch::Contains(what) && Catch::Contains("--stack pytorch"));
  }
  for (const char* zoo : {"gemma-3-1b", "olmo-2-7b", "starcoder", "command-r"})
    CHECK(check_buildable(spec_of(zoo), recipe));
  CHECK_FALSE(check_buildable(find_in_zoo("olmo-2-32b")->spec, recipe));  // 40 query heads, 8 key heads
  CHECK_FALSE(check_buildable(spec_of("gemma-3-1b"), {.sequence = 513}));
  const auto beyond = check_buildable(find_in_zoo("mistral-7b")->spec, {.sequence = 4097});
  REQUIRE_FALSE(beyond);
  CHECK_THAT(beyond.error().text(), Catch::Contains("window of 4096 tokens") && Catch::Contains("--seq 4096"));
  CHECK(check_buildable(find_in_zoo("mistral-7b")->spec, {.sequence = 4096}));
  const std::string all_full =
      replaced(text_of("gemma-3-1b"), "\"sliding_window_pattern\": 6", "\"sliding_window_pattern\": 1");
  CHECK(check_buildable(parsed(all_full).value().spec, {.sequence = 513}));
  CHECK(spec_of("command-r").other_arithmetic);
  CHECK_FALSE(spec_of("gemma-3-1b").other_arithmetic);
  CHECK(find_in_zoo("gemma-3-27b")->spec.other_arithmetic);
}

TEST_CASE("the tensors of Gemma 3, OLMo 2 and StarCoder have transformers' names, every parameter once") {
  const struct {
    const char* zoo;
    const char* named;
  } cases[] = {{"gemma-3-1b", "model.layers.25.pre_feedforward_layernorm.weight"},
               {"olmo-2-7b", "model.layers.31.post_feedforward_layernorm.weight"},
               {"starcoder", "transformer.h.39.attn.c_attn.weight"}};
  for (const auto& [zoo, named] : cases) {
    INFO(zoo);
    const ModelSpec spec = spec_of(zoo);
    REQUIRE(check_hf_names(spec));
    std::set<std::string> names;
    std::int64_t elements = 0;
    for (const HfTensor& tensor : hf_tensors(spec)) {
      CHECK(names.insert(tensor.name).second);
      elements += tensor.elements();
    }
    CHECK(elements == parameter_count(spec));
    CHECK(names.contains(named));
    CHECK_FALSE(write_hf_config(spec));
  }
  CHECK_FALSE(check_hf_names(spec_of("gemma-2-2b")));
  CHECK_FALSE(check_hf_names(spec_of("deepseek-v3")));
}

TEST_CASE("key heads and widths that a newer family's file leaves out are transformers' own") {
  const auto without = [](const char* zoo, const std::string& key) { return parsed(replaced(text_of(zoo), key, "")); };
  CHECK(without("gpt-oss-20b", "\"num_key_value_heads\": 8, ").value().spec.kv_heads == 8);
  CHECK(without("llama4-maverick", "\"num_key_value_heads\": 8, ").value().spec.kv_heads == 8);
  CHECK(without("llama4-maverick", "\"head_dim\": 128, ").value().spec.head_dim == 128);
  const std::string none = replaced(text_of("gpt-oss-20b"), "\"num_key_value_heads\": 8", "\"num_key_value_heads\": null");
  CHECK(parsed(none).value().spec.kv_heads == 64);
}

struct Fault {
  const char* zoo;
  const char* from;
  const char* to;
  const char* named;
};
constexpr Fault kFaults[] = {
    {"gemma-2-2b", "\"hidden_size\": 2304", "\"hidden_size\": 0", "hidden_size"},
    {"gemma-2-2b", "\"attn_logit_softcapping\": 50.0", "\"attn_logit_softcapping\": -1", "attn_logit_softcapping"},
    {"gemma-2-2b", "\"sliding_window\": 4096", "\"sliding_window\": 4096, \"layer_types\": [\"full_attention\"]",
     "layer_types"},
    {"gemma-3-1b", "\"rope_theta\": 1000000", "\"rope_theta\": -1", "rope_theta"},
    {"gemma-3-1b", "\"attention_bias\": false", "\"use_bidirectional_attention\": true", "both directions"},
    {"gemma-3-4b", "\"model_type\": \"gemma3_text\"", "\"model_type\": \"gemma2\"", "another model_type: \"gemma2\""},
    {"gemma-3-4b", "\"text_config\"", "\"text\"", "'text_config', which is missing"},
    {"gemma-3-4b", "\"model_type\": \"gemma3\"", "\"model_type\": \"gemma3\", \"is_encoder_decoder\": true", "encoder"},
    {"olmo-1b", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"relu\"", "activation"},
    {"qwen1.5-moe-a2.7b", "\"use_sliding_window\": false", "\"use_sliding_window\": true", "use_sliding_window"},
    {"olmoe-1b-7b", "\"num_experts_per_tok\": 8", "\"num_experts_per_tok\": 65", "top-k"},
    {"deepseek-v2-lite", "\"first_k_dense_replace\": 1", "\"first_k_dense_replace\": 27", "dense_first=27"},
    {"deepseek-v2-lite", "\"qk_rope_head_dim\": 64", "\"qk_rope_head_dim\": 63", "rotary_dim=63"},
    {"deepseek-v2-lite", "\"first_k_dense_replace\": 1", "\"first_k_dense_replace\": 1, \"mlp_bias\": true", "mlp_bias"},
    {"gpt-oss-20b", "\"sliding_window\": 128", "\"sliding_window\": 128, \"layer_types\": []", "layer_types"},
    {"llama4-maverick", "\"num_local_experts\"", "\"moe_layers\": [], \"num_local_experts\"", "moe_layers"},
    {"deepseek-v3", "\"scoring_func\": \"sigmoid\"", "\"scoring_func\": \"cosine\"", "scoring_func"},
    {"starcoder", "\"multi_query\": true", "\"multi_query\": false", "multi_query"},
    {"starcoder", "\"multi_query\": true", "\"num_key_value_heads\": 2", "num_key_value_heads"},
    {"command-r", "\"use_qk_norm\": false", "\"use_qk_norm\": true", "use_qk_norm"},
};

TEST_CASE("a newer family's faulty configuration is refused by the key") {
  for (const auto& [zoo, from, to, named] : kFaults) {
    INFO(zoo << ": " << to);
    const auto found = parsed(replaced(text_of(zoo), from, to));
    REQUIRE_FALSE(found);
    CHECK_THAT(found.error().text(), Catch::Contains(named));
  }
}

TEST_CASE("widths of experts whose product is no number are refused, and clipped projections are other arithmetic") {
  const std::string wide = replaced(text_of("deepseek-v2-lite"), "\"moe_intermediate_size\": 1408",
                                    "\"moe_intermediate_size\": 16777216");  // 2^24 · 2^39 is no number of 64 bits
  const auto vast = parsed(replaced(wide, "\"n_shared_experts\": 2", "\"n_shared_experts\": 549755813888"));
  REQUIRE_FALSE(vast);
  CHECK_THAT(vast.error().text(), Catch::Contains("is larger than"));
  CHECK(parsed(replaced(text_of("olmo-1b"), "\"clip_qkv\": null", "\"clip_qkv\": 8.0")).value().spec.other_arithmetic);
}

}  // namespace
}  // namespace plimsoll
