#include "formats/models/hf_config.h"

#include <catch2/catch.hpp>

#include "formats/models/model_zoo.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

// The keys of openai-community/gpt2's config.json that transformers reads.
constexpr std::string_view kGpt2 = R"({
  "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 50256,
  "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
  "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024, "resid_pdrop": 0.1,
  "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true, "summary_type": "cls_index",
  "summary_use_proj": true, "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}},
  "vocab_size": 50257})";

// Llama-3.2-3B.
constexpr std::string_view kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": 128001, "head_dim": 128, "hidden_act": "silu", "hidden_size": 3072, "initializer_range": 0.02,
  "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 24, "num_hidden_layers": 28, "num_key_value_heads": 8, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
                   "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "transformers_version": "4.45.0",
  "use_cache": true, "vocab_size": 128256})";

/// A small Llama with `more` keys.
std::string small_llama(const std::string& more) {
  return R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "max_position_embeddings": 32)" + more + "}";
}

std::string small_gpt2(const std::string& more) {
  return R"({"model_type": "gpt2", "vocab_size": 100, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32)" + more + "}";
}

Result<ModelDescription> parse(std::string_view text) { return parse_hf_config(text, "config.json", "m"); }

TEST_CASE("the config.json of GPT-2 gives the zoo's GPT-2, and its dropouts are noted") {
  const auto found = parse_hf_config(kGpt2, "config.json", "gpt2");
  REQUIRE(found);
  CHECK(found->spec == find_in_zoo("gpt2")->spec);
  REQUIRE(found->notes.size() == 3);
  CHECK(found->notes[0].text == "'attn_pdrop' is 0.1, but training here applies no dropout");
}

TEST_CASE("the config.json of Llama-3.2-3B gives the zoo's, and its rotary scaling is noted as changing numbers") {
  const auto found = parse_hf_config(kLlama, "config.json", "llama3.2-3b");
  REQUIRE(found);
  CHECK(found->spec == find_in_zoo("llama3.2-3b")->spec);
  REQUIRE(found->notes.size() == 1);
  CHECK(found->notes[0].changes_numbers);
  CHECK(found->notes[0].text.find("rope_scaling") != std::string::npos);
}

TEST_CASE("null or absent key-value heads and head_dim mean those of full attention") {
  for (const char* more : {"", R"(, "num_key_value_heads": null, "head_dim": null)"}) {
    const auto found = parse(small_llama(more));
    REQUIRE(found);
    CHECK(found->spec.kv_heads == 4);
    CHECK(found->spec.head_dim == 16);
    CHECK(found->spec.rope_theta == 10000.0);
    CHECK(found->notes.empty());
  }
  CHECK(parse(small_llama(R"(, "head_dim": 24)"))->spec.head_dim == 24);
}

TEST_CASE("biases, theta in either place, and older names are read") {
  const auto found = parse(small_llama(
      R"(, "attention_bias": true, "mlp_bias": true, "rope_parameters": {"rope_theta": 5000.0, "rope_type": "default"})"));
  REQUIRE(found);
  CHECK(found->spec.attention_bias);
  CHECK(found->spec.mlp_bias);
  CHECK(found->spec.rope_theta == 5000.0);
  CHECK(found->notes.empty());
  const auto old = parse(R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "max_sequence_length": 32, "rms_norm_eps": 1e-06})");
  REQUIRE(old);
  CHECK(old->spec.max_positions == 32);
  CHECK(parse(small_llama(R"(, "max_sequence_length": 16)"))->spec.max_positions == 32);  // the newer name wins
}

TEST_CASE("GPT-2 reads n_inner, exact GELU and an untied head") {
  const auto found = parse(small_gpt2(R"(, "n_inner": 100, "activation_function": "gelu", "tie_word_embeddings": false)"));
  REQUIRE(found);
  CHECK(found->spec.ffn == 100);
  CHECK(found->spec.activation == ActivationKind::kGelu);
  CHECK_FALSE(found->spec.tied_head);
  CHECK(parse(small_gpt2(R"(, "n_inner": null)"))->spec.ffn == 256);
}

TEST_CASE("a feature that changes the architecture is refused by the name of its key") {
  const std::pair<const char*, const char*> llama[] = {
      {"quantization_config", R"({"bits": 4})"}, {"num_local_experts", "8"}, {"num_experts", "4"},
      {"text_config", R"({"hidden_size": 1})"},  {"kv_lora_rank", "64"},     {"partial_rotary_factor", "0.5"},
      {"rope_interleaved", "true"},              {"hidden_act", "\"gelu\""}};
  for (const auto& [key, value] : llama) {
    CAPTURE(key);
    const auto found = parse(small_llama(std::string(", \"") + key + "\": " + value));
    REQUIRE_FALSE(found);
    const bool named = found.error().what.find(key) != std::string::npos || found.error().what.find("gelu") != std::string::npos;
    CHECK(named);
  }
  CHECK_FALSE(parse(small_gpt2(R"(, "add_cross_attention": true)")));
  CHECK_FALSE(parse(small_gpt2(R"(, "scale_attn_weights": false)")));
  CHECK_FALSE(parse(small_gpt2(R"(, "scale_attn_by_inverse_layer_idx": true)")));
  CHECK_FALSE(parse(small_gpt2(R"(, "activation_function": "relu")")));
  CHECK(parse(small_llama(R"(, "quantization_config": null, "num_experts": 0, "partial_rotary_factor": 1.0)"))->notes.empty());
}

TEST_CASE("no key is ignored silently: what is neither used nor harmless is noted by name") {
  const auto found = parse(small_llama(R"(, "use_cache": true, "attention_flavour": "new")"));
  REQUIRE(found);
  REQUIRE(found->notes.size() == 1);
  CHECK(found->notes[0].text == "the key 'attention_flavour' is unknown and was not used");
}

TEST_CASE("attention that is not full is noted as changing numbers") {
  CHECK(parse(small_llama(R"(, "sliding_window": 16)"))->notes.at(0).changes_numbers);
  CHECK(parse(small_llama(R"(, "layer_types": ["full_attention", "sliding_attention"])"))->notes.at(0).changes_numbers);
  CHECK(parse(small_llama(R"(, "sliding_window": 32)"))->notes.empty());
  CHECK(parse(small_llama(R"(, "sliding_window": 16, "use_sliding_window": false)"))->notes.empty());
  CHECK(parse(small_llama(R"(, "layer_types": ["full_attention", "full_attention"])"))->notes.empty());
}

TEST_CASE("a missing key, a wrong type, a bad division and another architecture are errors that name them") {
  const auto what = [](const std::string& text) { return parse(text).error().what; };
  CHECK(what(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32})") ==
        "the key 'vocab_size' is missing");
  CHECK(what(small_gpt2(R"(, "n_inner": "wide")")) == "'n_inner': expected a whole number from 1 on, found \"wide\"");
  CHECK(what(small_gpt2(R"(, "n_inner": -4)")) == "'n_inner': expected a whole number from 1 on, found -4");
  CHECK(what(R"({"model_type": "gpt2", "vocab_size": 9, "n_embd": 65, "n_layer": 2, "n_head": 4, "n_positions": 32})") ==
        "the hidden size 65 is not a multiple of 4 heads");
  CHECK(what(R"({"model_type": "bert"})") == "model_type 'bert' is not supported");
  CHECK(what(R"({"n_embd": 64})") == "the key 'model_type' is missing");
  CHECK(what(small_llama(R"(, "num_key_value_heads": 3)")) == "heads=4 is not a multiple of kv_heads=3");
  CHECK(what(small_gpt2(R"(, "hidden_size": 65)")) == "n_embd, hidden_size disagree");
  CHECK_FALSE(parse("[]"));
}

TEST_CASE("write_hf_config and parse_hf_config are inverse for every zoo model") {
  for (const ZooModel& model : built_in_zoo()) {
    CAPTURE(model.name);
    const auto text = write_hf_config(model.spec);
    REQUIRE(text);
    const auto found = parse_hf_config(*text, "config.json", model.name);
    REQUIRE(found);
    CHECK(found->spec == model.spec);
    CHECK(found->notes.empty());
  }
}

TEST_CASE("write_hf_config refuses a GPT-2 that transformers cannot build") {
  ModelSpec spec = find_in_zoo("gpt2")->spec;
  spec.kv_heads = 4;
  CHECK_FALSE(write_hf_config(spec));
}

TEST_CASE("read_hf_config names the model after its folder") {
  const ScratchFolder folder;
  const auto found = read_hf_config(folder.file("config.json", small_gpt2("")));
  REQUIRE(found);
  CHECK(found->spec.name == folder.path().filename().string());
  CHECK_FALSE(read_hf_config(folder.path() / "none.json"));
  CHECK_FALSE(read_hf_config(folder.path()));
}

}  // namespace
}  // namespace plimsoll
