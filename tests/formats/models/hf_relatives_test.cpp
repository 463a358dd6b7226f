#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "core/model/parameters.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_tensors.h"
#include "formats/models/model_zoo.h"

namespace plimsoll {
namespace {

struct Published {
  const char* name;
  std::int64_t parameters;  // transformers 5.23.0 on torch's meta device, a tied head once
  const char* text;
};

// The keys that transformers reads, as the files on Hugging Face have them.
const Published kFiles[] = {
    {"roberta-base", 124697433,
     R"({"architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0, "eos_token_id": 2,
      "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
      "intermediate_size": 3072, "layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "roberta",
      "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 1, "type_vocab_size": 1, "vocab_size": 50265})"},
    {"xlm-roberta-base", 278295186,
     R"({"architectures": ["XLMRobertaForMaskedLM"], "hidden_act": "gelu", "hidden_size": 768, "intermediate_size": 3072,
      "layer_norm_eps": 1e-05, "max_position_embeddings": 514, "model_type": "xlm-roberta", "num_attention_heads": 12,
      "num_hidden_layers": 12, "output_past": true, "pad_token_id": 1, "position_embedding_type": "absolute",
      "type_vocab_size": 1, "vocab_size": 250002})"},
    {"distilbert-base", 66985530,
     R"({"activation": "gelu", "architectures": ["DistilBertForMaskedLM"], "attention_dropout": 0.1, "dim": 768,
      "dropout": 0.1, "hidden_dim": 3072, "max_position_embeddings": 512, "model_type": "distilbert", "n_heads": 12,
      "n_layers": 6, "pad_token_id": 0, "qa_dropout": 0.1, "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": false,
      "tie_weights_": true, "vocab_size": 30522})"},
    {"granite-3.0-2b", 2533531648,
     R"({"architectures": ["GraniteForCausalLM"], "attention_bias": false, "attention_multiplier": 0.015625,
      "embedding_multiplier": 12.0, "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 8192,
      "logits_scaling": 8.0, "max_position_embeddings": 4096, "mlp_bias": false, "model_type": "granite",
      "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8, "residual_multiplier": 0.22,
      "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000, "tie_word_embeddings": true, "vocab_size": 49155})"},
    {"starcoder2-3b", 3030371328,
     R"({"architectures": ["Starcoder2ForCausalLM"], "attention_dropout": 0.1, "embedding_dropout": 0.1,
      "hidden_act": "gelu_pytorch_tanh", "hidden_size": 3072, "intermediate_size": 12288, "max_position_embeddings": 16384,
      "mlp_type": "default", "model_type": "starcoder2", "norm_epsilon": 1e-05, "norm_type": "layer_norm",
      "num_attention_heads": 24, "num_hidden_layers": 30, "num_key_value_heads": 2, "residual_dropout": 0.1,
      "rope_theta": 999999.4420358813, "sliding_window": 4096, "use_bias": true, "vocab_size": 49152})"},
    {"qwen3-30b-a3b", 30532122624,
     R"({"architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128,
      "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
      "max_window_layers": 48, "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": 768,
      "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
      "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false, "rms_norm_eps": 1e-06,
      "rope_scaling": null, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001, "sliding_window": null,
      "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 151936})"},
    {"smollm3-3b", 3075098624,
     R"({"architectures": ["SmolLM3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "hidden_act": "silu",
      "hidden_size": 2048, "intermediate_size": 11008, "max_position_embeddings": 65536, "max_window_layers": 28,
      "mlp_bias": false, "model_type": "smollm3", "no_rope_layer_interval": 4, "num_attention_heads": 16,
      "num_hidden_layers": 36, "num_key_value_heads": 4, "pretraining_tp": 2, "rms_norm_eps": 1e-06, "rope_scaling": null,
      "rope_theta": 5000000.0, "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false,
      "vocab_size": 128256})"},
    {"seed-oss-36b", 36151104512,
     R"({"architectures": ["SeedOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0, "attention_out_bias": false,
      "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 27648,
      "max_position_embeddings": 524288, "mlp_bias": false, "model_type": "seed_oss", "num_attention_heads": 80,
      "num_hidden_layers": 64, "num_key_value_heads": 8, "pretraining_tp": 1, "residual_dropout": 0.0, "rms_norm_eps": 1e-06,
      "rope_scaling": {"rope_type": "default"}, "rope_theta": 10000000.0, "tie_word_embeddings": false, "vocab_size": 155136})"},
    {"mistral-small-3.2-24b", 23572403200,
     R"({"architectures": ["Mistral3ForConditionalGeneration"], "image_token_index": 10, "model_type": "mistral3",
      "multimodal_projector_bias": false, "spatial_merge_size": 2, "text_config": {"attention_dropout": 0.0, "head_dim": 128,
      "hidden_act": "silu", "hidden_size": 5120, "intermediate_size": 32768, "max_position_embeddings": 131072,
      "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 40, "num_key_value_heads": 8,
      "rms_norm_eps": 1e-05, "rope_theta": 1000000000.0, "sliding_window": null, "vocab_size": 131072},
      "vision_config": {"model_type": "pixtral"}})"},
};

ModelDescription read(const std::string& text) { return parse_hf_config(text, "config.json", "m").value(); }

bool changes_numbers(const ModelDescription& found) {
  return std::ranges::any_of(found.notes, [](const ModelNote& note) { return note.changes_numbers; });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST_CASE("relatives of read families have transformers' counts of parameters, and no key of theirs is unknown") {
  for (const Published& file : kFiles) {
    INFO(file.name);
    const ModelDescription found = read(file.text);
    CHECK(parameter_count(found.spec) == file.parameters);
    for (const ModelNote& note : found.notes) CHECK(note.text.find("is unknown") == std::string::npos);
  }
}

TEST_CASE("what a relative computes otherwise keeps its weights from being trained as its family's") {
  CHECK(changes_numbers(read(kFiles[0].text)));  // other names of tensors
  CHECK_FALSE(check_hf_names(read(kFiles[0].text).spec));
  CHECK_FALSE(check_hf_names(read(kFiles[2].text).spec));
  CHECK(changes_numbers(read(kFiles[3].text)));  // scores · 0.015625 where 1/√64 = 0.125 is usual
  const std::string plain = replaced(replaced(replaced(kFiles[3].text, "0.015625", "0.125"), "8.0", "1.0"), "0.22", "1");
  CHECK_FALSE(changes_numbers(read(plain)));
  CHECK(read(plain).spec.embedding_scale == 12);
  CHECK_FALSE(changes_numbers(read(kFiles[4].text)));
  CHECK_FALSE(changes_numbers(read(kFiles[5].text)));
  CHECK(changes_numbers(read(replaced(kFiles[5].text, "\"norm_topk_prob\": true", "\"norm_topk_prob\": false"))));
}

TEST_CASE("SmolLM3's blocks without rotation, and Seed-OSS's biases, are what their flags say") {
  const std::string smol = kFiles[6].text;
  CHECK(read(smol).spec.other_arithmetic);
  const auto listed = [&](const std::string& one) {
    std::string all = one;
    for (int i = 1; i < 36; ++i) all += ", 1";
    return read(replaced(smol, "\"no_rope_layer_interval\": 4", "\"no_rope_layers\": [" + all + "]")).spec;
  };
  CHECK_FALSE(listed("1").other_arithmetic);
  CHECK(listed("0").other_arithmetic);
  for (const auto& [from, to, named] : {std::tuple("\"no_rope_layer_interval\": 4", "\"no_rope_layers\": [1, 1]", "no list of 36 layers"),
                                        std::tuple("\"use_sliding_window\": false", "\"use_sliding_window\": true", "sliding_window")}) {
    const auto refused = parse_hf_config(replaced(smol, from, to), "config.json", "m");
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().text(), Catch::Contains(named));
  }
  const ModelSpec seed = read(kFiles[7].text).spec;
  CHECK(seed.qkv_bias);
  CHECK_FALSE(seed.projection_bias);
  CHECK(read(replaced(kFiles[7].text, "\"attention_out_bias\": false", "\"attention_out_bias\": true")).spec.projection_bias);
  CHECK(changes_numbers(read(kFiles[8].text)));  // the tower of images is left out
}

TEST_CASE("positions of RoBERTa begin behind its padding, wherever that is") {
  const auto with_padding = [](const std::string& number) {
    return read(replaced(kFiles[0].text, "\"pad_token_id\": 1", "\"pad_token_id\": " + number)).spec;
  };
  for (const std::int64_t padding : {0, 1, 7}) {
    const ModelSpec spec = with_padding(std::to_string(padding));
    CHECK(spec.position_offset == padding + 1);
    CHECK(spec.max_positions == 514 - padding - 1);
    CHECK(parameter_count(spec) == kFiles[0].parameters);
  }
}

TEST_CASE("DistilBERT is told in its own keys what is missing, and that its classes come otherwise") {
  const std::string text = kFiles[2].text;
  const auto none = parse_hf_config(replaced(text, "\"dim\": 768,", ""), "config.json", "m");
  CHECK(none.error().what == "the key 'dim' is missing");
  const auto notes = read(replaced(text, "DistilBertForMaskedLM", "DistilBertForSequenceClassification")).notes;
  CHECK(std::ranges::any_of(notes, [](const ModelNote& note) { return note.text.find("ReLU") != std::string::npos; }));
}

TEST_CASE("the experts of Qwen 3 have its names, every one once") {
  const ModelSpec spec = read(kFiles[5].text).spec;
  std::set<std::string> names;
  std::int64_t elements = 0;
  for (const HfTensor& tensor : hf_tensors(spec)) {
    CHECK(names.insert(tensor.name).second);
    elements += tensor.elements();
  }
  CHECK(elements == 30532122624);
  CHECK(read(replaced(kFiles[5].text, "num_experts\"", "num_local_experts\"")).spec == spec);  // as transformers 5 writes it
  CHECK(names.contains("model.layers.47.mlp.experts.127.down_proj.weight"));
  CHECK(names.contains("model.layers.0.mlp.gate.weight"));
  CHECK(names.contains("model.layers.0.self_attn.q_norm.weight"));
}

TEST_CASE("the feed-forward layer of StarCoder 2 has its names, and no gate") {
  const ModelDescription found = read(kFiles[4].text);
  CHECK(found.spec.window == 4096);
  ModelSpec zoo = find_in_zoo("starcoder2-3b")->spec;
  zoo.name = "m";
  zoo.rotary_dim = 0;  // all of a head, which the words of a StableLM must say
  CHECK(canonical_text(found.spec) == canonical_text(zoo));
  std::set<std::string> names;
  std::int64_t elements = 0;
  for (const HfTensor& tensor : hf_tensors(found.spec)) {
    CHECK(names.insert(tensor.name).second);
    elements += tensor.elements();
  }
  CHECK(elements == 3030371328);
  CHECK(names.contains("model.layers.29.mlp.c_fc.bias"));
  CHECK(names.contains("model.layers.0.self_attn.k_proj.bias"));
  CHECK_FALSE(names.contains("model.layers.0.mlp.gate_proj.weight"));
  CHECK(write_hf_config(found.spec).error().remedy == "save a single .safetensors file");  // which holds it all the same
}

TEST_CASE("a family that is not simulated is refused with what it is, a misspelt one with its near names alone") {
  const auto error = [](const std::string& type) {
    return parse_hf_config(R"({"model_type": ")" + type + R"("})", "config.json", "m").error();
  };
  CHECK(error("mamba").what == "model_type 'mamba' is a state-space model: no attention, which is not simulated");
  CHECK(error("mamba").remedy.find("did you mean") == std::string::npos);
  CHECK(error("granitemoe").what.find("mixture") != std::string::npos);
  CHECK(error("whisper").what.find("speech") != std::string::npos);
  CHECK(error("lamma").remedy.find("did you mean llama") != std::string::npos);
  CHECK(error("zzzzzzzzz").remedy.find("did you mean") == std::string::npos);
}

}  // namespace
}  // namespace plimsoll
