#include "formats/models/hf_config.h"
#include "formats/models/hf_newer_config.h"

#include <catch2/catch.hpp>

#include "formats/models/hf_tensors.h"
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

TEST_CASE("the config.json of Llama-3.2-3B gives the zoo's, rotary scaling and all") {
  const auto found = parse_hf_config(kLlama, "config.json", "llama3.2-3b");
  REQUIRE(found);
  CHECK(found->spec == find_in_zoo("llama3.2-3b")->spec);
  CHECK(found->spec.rope_scaling.factor == 32);
  CHECK(found->notes.empty());
}

TEST_CASE("the config.json files of Mistral, Qwen 2, Qwen 3, Gemma and Phi give the zoo's models") {
  // The keys that transformers reads, as the files on Hugging Face have them.
  const std::pair<const char*, const char*> files[] = {
      {"mistral-7b", R"({"architectures": ["MistralForCausalLM"], "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
        "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768,
        "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096, "tie_word_embeddings": false,
        "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 32000})"},
      {"qwen2.5-0.5b", R"({"architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu",
        "hidden_size": 896, "intermediate_size": 4864, "max_position_embeddings": 32768, "max_window_layers": 24,
        "model_type": "qwen2", "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2,
        "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true,
        "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936})"},
      {"qwen3-0.6b", R"({"architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024, "intermediate_size": 3072,
        "max_position_embeddings": 40960, "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16,
        "num_hidden_layers": 28, "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null,
        "rope_theta": 1000000, "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false,
        "vocab_size": 151936})"},
      {"gemma-2b", R"({"architectures": ["GemmaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "head_dim": 256, "hidden_act": "gelu", "hidden_activation": null, "hidden_size": 2048, "intermediate_size": 16384,
        "max_position_embeddings": 8192, "model_type": "gemma", "num_attention_heads": 8, "num_hidden_layers": 18,
        "num_key_value_heads": 1, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 10000.0, "vocab_size": 256000})"},
      {"phi-2", R"({"architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "embd_pdrop": 0.0, "hidden_act": "gelu_new",
        "hidden_size": 2560, "intermediate_size": 10240, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
        "model_type": "phi", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
        "partial_rotary_factor": 0.4, "qk_layernorm": false, "resid_pdrop": 0.0, "rope_scaling": null, "rope_theta": 10000.0,
        "tie_word_embeddings": false, "vocab_size": 51200})"}};
  for (const auto& [name, text] : files) {
    CAPTURE(name);
    const auto found = parse_hf_config(text, "config.json", name);
    if (!found) FAIL(found.error().text());
    CHECK(canonical_text(found->spec) == canonical_text(find_in_zoo(name)->spec));
    for (const ModelNote& note : found->notes) CHECK_FALSE(note.changes_numbers);
  }
}

TEST_CASE("what a file says twice must be the same, and what it asks for must be there") {
  const std::pair<const char*, const char*> cases[] = {
      {R"(, "rope_theta": 5000, "rope_parameters": {"rope_theta": 6000})", "disagree"},
      {R"(, "rope_scaling": {"rope_type": "llama3", "type": "linear", "factor": 2})", "'rope_type' and 'type'"},
      {R"(, "rope_scaling": {"type": "linear"})", "has no 'factor'"},
      {R"(, "rope_scaling": {"type": "linear", "factor": 0.5})", "factor of 0.5"},
      {R"(, "rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {"rope_type": "linear", "factor": 4})", "disagree"},
      {R"(, "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1,
          "original_max_position_embeddings": 16})", "low_frequency"},
      {R"(, "architectures": ["MistralForCausalLM"])", "contradicts"},
      {R"(, "partial_rotary_factor": 0.5)", "partial_rotary_factor"}};
  for (const auto& [more, named] : cases) {
    CAPTURE(more);
    const auto found = parse(small_llama(more));
    REQUIRE_FALSE(found);
    CHECK_THAT(found.error().text(), Catch::Contains(named));
  }
}

TEST_CASE("a kind of rotary scaling that has no kernel is noted as changing numbers, by its name") {
  const auto found = parse(small_llama(R"(, "rope_scaling": {"rope_type": "yarn", "factor": 4.0})"));
  REQUIRE(found);
  REQUIRE(found->notes.size() == 1);
  CHECK(found->notes[0].changes_numbers);
  CHECK_THAT(found->notes[0].text, Catch::Contains("'yarn'"));
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
  CHECK(found->spec.qkv_bias);
  CHECK(found->spec.projection_bias);
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
      {"rope_interleaved", "true"},              {"use_bidirectional_attention", "true"},              {"hidden_act", "\"gelu\""}};
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

TEST_CASE("a sliding window below the positions bounds the sequence, also where only some layers have it") {
  const auto window_of = [](const char* type, const std::string& more) {
    std::string text = small_llama(R"(, "num_key_value_heads": 4)" + more);
    text.replace(text.find("llama"), 5, type);
    const auto found = parse(text);
    if (!found) FAIL(found.error().text());
    CHECK(found->notes.empty());
    return found->spec.window;
  };
  CHECK(window_of("mistral", R"(, "sliding_window": 16)") == 16);
  CHECK(window_of("mistral", R"(, "sliding_window": 32)") == 0);
  CHECK(window_of("mistral", R"(, "sliding_window": null)") == 0);
  CHECK(window_of("mistral", "") == 0);  // 4096, which is beyond the 32 positions
  CHECK(window_of("qwen2", R"(, "sliding_window": 16)") == 0);
  CHECK(window_of("qwen2", R"(, "sliding_window": 16, "use_sliding_window": true, "max_window_layers": 1)") == 16);
  CHECK(window_of("qwen3", R"(, "sliding_window": 16, "use_sliding_window": true,
                               "layer_types": ["full_attention", "sliding_attention"])") == 16);
  std::string without = small_llama(R"(, "num_key_value_heads": 4, "layer_types": ["sliding_attention", "full_attention"])");
  without.replace(without.find("llama"), 5, "qwen3");
  CHECK_THAT(parse(without).error().text(), Catch::Contains("no window"));
}

TEST_CASE("a missing key, a wrong type, a bad division and another architecture are errors that name them") {
  const auto what = [](const std::string& text) { return parse(text).error().what; };
  CHECK(what(R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 32})") ==
        "the key 'vocab_size' is missing");
  CHECK(what(small_gpt2(R"(, "n_inner": "wide")")) == "'n_inner': expected a whole number from 1 on, found \"wide\"");
  CHECK(what(small_gpt2(R"(, "n_inner": -4)")) == "'n_inner': expected a whole number from 1 on, found -4");
  CHECK(what(R"({"model_type": "gpt2", "vocab_size": 9, "n_embd": 65, "n_layer": 2, "n_head": 4, "n_positions": 32})") ==
        "the hidden size 65 is not a multiple of 4 heads");
  CHECK(what(R"({"model_type": "xlnet"})") == "model_type 'xlnet' is not supported");
  CHECK(what(R"({"n_embd": 64})") == "the key 'model_type' is missing");
  CHECK(what(small_llama(R"(, "num_key_value_heads": 3)")) == "heads=4 is not a multiple of kv_heads=3");
  CHECK(what(small_gpt2(R"(, "hidden_size": 65)")) == "n_embd, hidden_size disagree");
  CHECK_FALSE(parse("[]"));
}

std::string small_bert(const std::string& more) {
  return R"({"model_type": "bert", "vocab_size": 99, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 256, "max_position_embeddings": 32)" + more + "}";
}

TEST_CASE("a BERT's head is what its architecture says, hidden tokens where it says nothing") {
  CHECK(parse(small_bert(""))->spec.head == HeadKind::kMaskedToken);
  CHECK(parse(small_bert(R"(, "architectures": ["BertForPreTraining"])"))->spec.tied_head);
  const auto classes = parse(small_bert(R"(, "architectures": ["BertForSequenceClassification"],
    "id2label": {"0": "bad", "1": "so", "2": "good"}, "label2id": {"bad": 0, "so": 1, "good": 2})"));
  REQUIRE(classes);
  CHECK(classes->spec.head == HeadKind::kClass);
  CHECK(classes->spec.classes == 3);
  CHECK(classes->spec.pooler);
  CHECK_FALSE(classes->spec.causal);
}

TEST_CASE("an encoder that would compute something else is refused by name") {
  const auto what = [](const std::string& more) { return parse(small_bert(more)).error().what; };
  CHECK(what(R"(, "is_decoder": true)") ==
        "'is_decoder' asks for an encoder that reads from left to right, which is not supported");
  CHECK(what(R"(, "position_embedding_type": "relative_key")") == "position_embedding_type 'relative_key' is not supported");
  CHECK(what(R"(, "architectures": ["BertForQuestionAnswering"])") ==
        "the architecture 'BertForQuestionAnswering' is not supported");
  CHECK(what(R"(, "hidden_act": "relu")") == "the activation 'relu' is not supported");
  CHECK(what(R"(, "architectures": ["BertForSequenceClassification"], "problem_type": "multi_label_classification")") ==
        "problem_type 'multi_label_classification' is not supported");
  const auto image = parse(R"({"model_type": "vit", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 256, "image_size": 30, "patch_size": 16})");
  CHECK(image.error().what == "images of 30 x 30 pixels cannot be cut into patches of 16");
}

TEST_CASE("read_hf_config holds what lies beside the config to the model's laws, and names the folder") {
  const ScratchFolder folder;
  const auto read = [&](std::string_view config) { return read_hf_config(folder.file("config.json", config)); };
  const std::string_view images = R"({"model_type": "vit", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "intermediate_size": 16, "image_size": 4, "patch_size": 2})";
  static_cast<void>(folder.file("preprocessor_config.json", R"({"image_std": [0.5, 0, 0.5]})"));
  const auto flat = read(images);
  REQUIRE_FALSE(flat);
  CHECK(flat.error().what.find("a deviation of 0 is not positive") != std::string::npos);
  CHECK(flat.error().where.find(folder.path().string()) == 0);
  const std::string_view words = R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 8,
    "vocab_size": 11, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 8})";
  static_cast<void>(folder.file("tokenizer.json", R"({"added_tokens": [{"id": 4294967298, "content": "[MASK]"}]})"));
  const auto beyond = read(words);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().what.find("the mask token 4294967298 is beyond the vocabulary of 11") != std::string::npos);
  static_cast<void>(folder.file("tokenizer.json", R"({"added_tokens": [{"id": 10, "content": "[MASK]"}]})"));
  REQUIRE(read(words));
  CHECK(read(words)->spec.mask_token == 10);
}

TEST_CASE("write_hf_config and parse_hf_config are inverse for every zoo model") {
  for (const ZooModel& model : built_in_zoo()) {
    CAPTURE(model.name);
    const bool starcoder = model.spec.family == Family::kStableLm && !is_gated(model.spec.activation);  // which is read only
    const bool mixture = model.spec.family == Family::kQwen3 && model.spec.experts.count > 0;
    if (!check_hf_names(model.spec) || mixture || starcoder || has_newer_keys(model.spec.family)) continue;
    const auto text = write_hf_config(model.spec);
    const bool wide = model.spec.family == Family::kQwen2 && model.spec.attention_width() != model.spec.hidden;  // Seed-OSS
    if (model.spec.other_arithmetic || wide) {
      CHECK_FALSE(text);
      continue;
    }
    REQUIRE(text);
    const auto found = parse_hf_config(*text, "config.json", model.name);
    REQUIRE(found);
    ModelSpec spec = model.spec;
    spec.mask_token = -1;  // it stands in the tokenizer's files
    CHECK(found->spec == spec);
    CHECK(found->notes.empty());
  }
}

TEST_CASE("write_hf_config refuses a GPT-2 that transformers cannot build") {
  ModelSpec spec = find_in_zoo("gpt2")->spec;
  spec.kv_heads = 4;
  CHECK_FALSE(write_hf_config(spec));
  ModelSpec squared = find_in_zoo("gpt2")->spec;
  squared.activation = ActivationKind::kSquaredRelu;  // its config would say GELU
  CHECK_FALSE(write_hf_config(squared));
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
