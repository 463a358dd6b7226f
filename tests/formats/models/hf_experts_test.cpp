#include "formats/models/hf_experts.h"

#include <catch2/catch.hpp>

#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_tensors.h"
#include "formats/models/hf_weights.h"
#include "formats/models/model_zoo.h"
#include "formats/models/shape_words.h"
#include "formats/plans/model_json.h"
#include "formats/text/parse_json.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

// The keys of mistralai/Mixtral-8x7B-v0.1 that transformers reads.
const std::string kMixtral = R"({
  "architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu",
  "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 32768,
  "model_type": "mixtral", "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
  "num_key_value_heads": 8, "num_local_experts": 8, "output_router_logits": false, "rms_norm_eps": 1e-05,
  "rope_theta": 1000000.0, "router_aux_loss_coef": 0.02, "sliding_window": null, "tie_word_embeddings": false,
  "torch_dtype": "bfloat16", "transformers_version": "4.36.0.dev0", "use_cache": true, "vocab_size": 32000})";

Result<ModelDescription> parse(std::string text, const std::string& old = {}, const std::string& now = {}) {
  if (!old.empty()) text.replace(text.find(old), old.size(), now);
  return parse_hf_config(text, "config.json", "m");
}

ModelSpec made(const std::string& text) {
  const auto spec = parse_shape_words(text);
  if (!spec) FAIL(spec.error().text());
  return *spec;
}

std::string refusal(const std::string& keys) {
  const auto spec = parse_shape_words("gpt:layers=2,hidden=64,heads=4,vocab=10," + keys);
  REQUIRE_FALSE(spec);
  return spec.error().text();
}

}  // namespace

TEST_CASE("the config.json of Mixtral 8x7B gives the zoo's, and its auxiliary loss only where its logits are asked for") {
  const auto found = parse(kMixtral);
  REQUIRE(found);
  ModelSpec zoo = find_in_zoo("mixtral-8x7b")->spec;
  zoo.name = "m";
  CHECK(found->spec == zoo);
  CHECK(found->notes.empty());
  CHECK(found->spec.experts.balance == 0);
  CHECK(parse(kMixtral, R"("output_router_logits": false)", R"("output_router_logits": true)")->spec.experts.balance == 0.02);
}

TEST_CASE("a Mixtral's config that asks for other routers, or for more experts a token than there are, is refused by name") {
  const struct {
    std::string now, named;
  } cases[] = {{R"("scoring_func": "sigmoid", "num_local_experts": 8)", "'sigmoid'"},
               {R"("router_type": "expert_choice", "num_local_experts": 8)", "'expert_choice'"},
               {R"("norm_topk_prob": false, "num_local_experts": 8)", "norm_topk_prob"},
               {R"("num_local_experts": 1)", "experts=1"}};
  for (const auto& [now, named] : cases) {
    const auto found = parse(kMixtral, R"("num_local_experts": 8)", now);
    INFO(named);
    REQUIRE_FALSE(found);
    CHECK(found.error().text().find(named) != std::string::npos);
  }
  const auto many = parse(kMixtral, R"("num_experts_per_tok": 2)", R"("num_experts_per_tok": 9)");
  REQUIRE_FALSE(many);
  CHECK(many.error().text().find("top-k=9") != std::string::npos);
  const auto noisy = parse(kMixtral, R"("sliding_window": null)", R"("router_jitter_noise": 0.1)");
  REQUIRE(noisy);
  CHECK(noisy->notes.size() == 1);
}

TEST_CASE("a Mixtral's config is written as it was read, and a mixture that transformers has not is refused") {
  for (const bool adds : {false, true}) {
    ModelSpec spec = made("mixtral:layers=2,hidden=64,heads=4,kv_heads=2,ffn=32,vocab=10,experts=4,top-k=3");
    spec.experts.balance = adds ? 0.25 : 0;
    const auto text = write_hf_config(spec, {});
    REQUIRE(text);
    const auto again = parse_hf_config(*text, "config.json", spec.name);
    REQUIRE(again);
    CHECK(again->spec == spec);
  }
  CHECK_FALSE(write_hf_config(made("gpt:layers=2,hidden=64,heads=4,vocab=10,experts=4,gating=switch"), {}));
  CHECK_FALSE(write_hf_config(made("mixtral:layers=2,hidden=64,heads=4,vocab=10,capacity=2"), {}));
}

TEST_CASE("the experts' tensors have Mixtral's names and their rows of the group's matrices") {
  const ModelSpec spec = made("mixtral:layers=1,hidden=8,heads=2,kv_heads=1,ffn=6,vocab=11,experts=3,top-k=2");
  const ParameterLayout layout = lay_out_parameters(spec);
  const std::int64_t in = layout.at(layout.block(0)).find(ParameterRole::kExpertInWeight)->offset;
  const std::int64_t out = layout.at(layout.block(0)).find(ParameterRole::kExpertOutWeight)->offset;
  std::int64_t seen = 0;
  for (const HfTensor& tensor : hf_tensors(spec)) {
    if (tensor.name == "model.layers.0.block_sparse_moe.experts.1.w3.weight") {
      CHECK(tensor.offset == in + (12 + 6) * 8);  // behind expert 0's gate and up and its own gate
      CHECK(tensor.shape == std::vector<std::int64_t>{6, 8});
      ++seen;
    }
    if (tensor.name == "model.layers.0.block_sparse_moe.experts.2.w2.weight") {
      CHECK(tensor.offset == out + 2 * 8 * 6);
      CHECK(tensor.shape == std::vector<std::int64_t>{8, 6});
      ++seen;
    }
    if (tensor.name == "model.layers.0.block_sparse_moe.gate.weight") ++seen;
  }
  CHECK(seen == 3);
}

TEST_CASE("a checkpoint without one expert's tensor is refused with its name") {
  const ScratchFolder folder;
  const ModelSpec spec = made("mixtral:layers=1,hidden=8,heads=2,kv_heads=1,ffn=6,vocab=11,experts=3,top-k=2");
  std::vector<HfTensor> tensors = hf_tensors(spec);
  std::erase_if(tensors, [](const HfTensor& tensor) { return tensor.name.find("experts.2.w1") != std::string::npos; });
  const auto path = folder.path() / "model.safetensors";
  auto writer = SafetensorsWriter::create(path, plan_hf_file(tensors, StoredType::kF32));
  REQUIRE(writer);
  for (const HfTensor& tensor : tensors) {
    REQUIRE(writer->append(tensor.name, std::vector<float>(static_cast<std::size_t>(tensor.elements()), 1.0F)));
  }
  REQUIRE(writer->finish());
  const auto checkpoint = HfCheckpoint::open(path);
  REQUIRE(checkpoint);
  const auto matched = checkpoint->match(hf_tensors(spec));
  REQUIRE_FALSE(matched);
  CHECK(matched.error().what.find("model.layers.0.block_sparse_moe.experts.2.w1.weight") != std::string::npos);
}

TEST_CASE("keys of a shape in words make a mixture of experts, and a gating fills in what its paper takes") {
  const ModelSpec spec = made("gpt:layers=4,hidden=64,heads=4,vocab=10,experts=4,gating=switch,every=2,expert_dropout=0.4");
  CHECK(spec.experts == ExpertSpec{.count = 4, .per_token = 1, .gating = GatingKind::kSwitch, .every = 2, .capacity = 1.25,
                                   .balance = 0.01, .dropout = 0.4});
  CHECK(made("gpt:layers=2,hidden=64,heads=4,vocab=10,top-k=1,experts=4,capacity=2,gating=switch").experts.capacity == 2);
  CHECK(made("llama:layers=2,hidden=64,heads=4,vocab=10,experts=4,expert_ffn=48").expert_width() == 48);
  const ModelSpec mixtral = made("mixtral:layers=2,hidden=64,heads=4,vocab=10");
  CHECK(mixtral.experts == ExpertSpec{.count = 8, .per_token = 2});
}

TEST_CASE("experts in words that cannot be are refused with what is wrong") {
  CHECK(refusal("experts=4,top-k=5").find("top-k=5") != std::string::npos);
  CHECK(refusal("experts=4,gating=sigmoid").find("gating=sigmoid") != std::string::npos);
  CHECK(refusal("capacity=2").find("'capacity' needs a number of experts") != std::string::npos);
  CHECK(refusal("experts=4,capacity=-1").find("capacity=-1") != std::string::npos);
  CHECK(refusal("experts=4,expert_dropout=1").find("expert_dropout") != std::string::npos);
  CHECK(refusal("experts=4,topk=2").find("unknown key 'topk'") != std::string::npos);
}

TEST_CASE("a plan's model keeps its experts") {
  const ModelSpec spec =
      made("gpt:layers=4,hidden=64,heads=4,vocab=10,experts=4,gating=noisy,every=2,groups=2,capacity=1.5,load_loss=0.3");
  const auto document = parse_json(write_model(spec), "model");
  REQUIRE(document);
  JsonFault fault;
  CHECK(read_model(JsonNode(*document, "", fault)) == spec);
  CHECK_FALSE(fault.error);
}

}  // namespace plimsoll
