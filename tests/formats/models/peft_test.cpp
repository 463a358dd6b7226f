#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "formats/models/peft_config.h"
#include "formats/models/peft_tensors.h"
#include "formats/text/write_text_file.h"
#include "tests/formats/models/scratch_folder.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

AdapterSpec all_of(const ModelSpec& spec) { return {.rank = 2, .alpha = 4, .targets = adapter_targets(spec)}; }

SafetensorsHeader header_of(const std::vector<HfTensor>& tensors) {
  SafetensorsHeader header;
  for (const HfTensor& tensor : tensors)
    header.tensors.push_back({.name = tensor.name, .shape = tensor.shape, .elements = tensor.elements()});
  std::sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return header;
}

json config_of(const ModelSpec& spec) { return json::parse(write_peft_config({all_of(spec), "base"}, spec)); }

Result<PeftConfig> read(const json& config, const ModelSpec& spec) {
  const ScratchFolder folder;
  write_text_file(folder.path() / kAdapterConfigName, config.dump());
  return read_peft_config(folder.path(), spec, header_of(peft_tensors(spec, all_of(spec))));
}

std::string refusal(const json& change, const ModelSpec& spec = small_model(Family::kLlama)) {
  json config = config_of(spec);
  config.update(change);
  const auto found = read(config, spec);
  REQUIRE_FALSE(found);
  return found.error().text();
}

}  // namespace

TEST_CASE("adapters have PEFT's names and shapes") {
  const ModelSpec llama = small_model(Family::kLlama, 2), gpt2 = small_model(Family::kGpt2, 1);
  const std::vector<HfTensor> tensors =
      peft_tensors(llama, {.rank = 2, .alpha = 4, .targets = {AdapterTarget::kKey, AdapterTarget::kDown}});
  REQUIRE(tensors.size() == 8);
  CHECK(tensors[0].name == "base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight");
  CHECK(tensors[0].shape == std::vector<std::int64_t>{2, 32});
  CHECK(tensors[1].name == "base_model.model.model.layers.0.self_attn.k_proj.lora_B.weight");
  CHECK(tensors[1].shape == std::vector<std::int64_t>{16, 2});
  CHECK(tensors[7].name == "base_model.model.model.layers.1.mlp.down_proj.lora_B.weight");
  CHECK(peft_tensors(gpt2, all_of(gpt2))[0].name == "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight");
}

TEST_CASE("adapters' tensors cover every element of their groups once") {
  for (const Family family : {Family::kGpt2, Family::kLlama, Family::kQwen3, Family::kPhi}) {
    const ModelSpec spec = small_model(family, 2);
    const ParameterLayout layout = lay_out_parameters(spec, all_of(spec));
    std::vector<std::vector<int>> covered;
    for (const ParameterGroup& group : layout.groups)
      covered.emplace_back(group.frozen ? 0 : static_cast<std::size_t>(group.elements));
    for (const HfTensor& tensor : peft_tensors(spec, all_of(spec))) {
      for (std::int64_t i = 0; i < tensor.elements(); ++i)
        ++covered[tensor.group.index].at(static_cast<std::size_t>(tensor.offset + i));
    }
    for (const std::vector<int>& group : covered)
      CHECK(std::all_of(group.begin(), group.end(), [](int times) { return times == 1; }));
  }
}

TEST_CASE("modules are named so that PEFT finds these and no others") {
  const auto modules = [](Family family) {
    return config_of(small_model(family))["target_modules"].get<std::vector<std::string>>();
  };
  CHECK(modules(Family::kGpt2) == std::vector<std::string>{"c_attn", "attn.c_proj", "c_fc", "mlp.c_proj"});
  CHECK(modules(Family::kLlama).front() == "q_proj");
  CHECK(modules(Family::kPhi) == std::vector<std::string>{"q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2"});
}

TEST_CASE("a configuration that is written is read back, whatever its alpha") {
  for (const Family family : {Family::kGpt2, Family::kLlama, Family::kPhi}) {
    const ModelSpec spec = small_model(family);
    for (const double alpha : {4.0, 0.3}) {
      PeftConfig config{all_of(spec), "some/base"};
      config.adapter.alpha = alpha;
      const auto found = read(json::parse(write_peft_config(config, spec)), spec);
      if (!found) FAIL(found.error().text());
      CHECK(found->adapter == config.adapter);
      CHECK(found->base == "some/base");
    }
  }
}

TEST_CASE("targets that are named by a pattern are those whose tensors are there") {
  const ModelSpec spec = small_model(Family::kLlama);
  json config = config_of(spec);
  config["target_modules"] = "all-linear";
  CHECK(read(config, spec).value().adapter.targets == adapter_targets(spec));
}

TEST_CASE("rank-stabilised adapters are scaled by the root of their rank") {
  const ModelSpec spec = small_model(Family::kLlama);
  json config = config_of(spec);
  config["use_rslora"] = true;
  CHECK(read(config, spec).value().adapter.scale() == Approx(4 / std::sqrt(2.0)));
}

TEST_CASE("a null in an adapter's configuration is absent") {
  const ModelSpec spec = small_model(Family::kLlama);
  json config = config_of(spec);
  const AdapterSpec without = read(config, spec).value().adapter;
  for (const char* key : {"use_rslora", "use_dora", "bias", "base_model_name_or_path", "alpha_pattern"})
    config[key] = nullptr;
  CHECK(read(config, spec).value().adapter == without);
}

TEST_CASE("adapters that compute something else are refused by name") {
  CHECK_THAT(refusal({{"peft_type", "IA3"}}), Catch::Contains("IA3"));
  CHECK_THAT(refusal({{"use_dora", true}}), Catch::Contains("use_dora"));
  CHECK_THAT(refusal({{"bias", "all"}}), Catch::Contains("bias"));
  CHECK_THAT(refusal({{"rank_pattern", {{"q_proj", 4}}}}), Catch::Contains("rank_pattern"));
  CHECK_THAT(refusal({{"modules_to_save", {"lm_head"}}}), Catch::Contains("modules_to_save"));
  CHECK_THAT(refusal({{"r", "four"}}), Catch::Contains("'r'"));
  CHECK_THAT(refusal({{"r", 0}}), Catch::Contains("rank of 0"));
  CHECK_THAT(refusal({{"r", 1e300}}), Catch::Contains("no whole number"));
  CHECK_THAT(refusal({{"peft_type", 16}}), Catch::Contains("of type '16'"));
  CHECK_THAT(refusal({{"use_rslora", 1}}), Catch::Contains("'use_rslora' is 1"));
}

TEST_CASE("an adapter of another family is refused with a tensor that it has and one that it would have") {
  const ScratchFolder folder;
  const ModelSpec llama = small_model(Family::kLlama), gpt2 = small_model(Family::kGpt2);
  write_text_file(folder.path() / kAdapterConfigName, config_of(gpt2).dump());
  const auto found = read_peft_config(folder.path(), llama, header_of(peft_tensors(gpt2, all_of(gpt2))));
  REQUIRE_FALSE(found);
  CHECK_THAT(found.error().text(), Catch::Contains("another model") && Catch::Contains("c_attn") && Catch::Contains("q_proj"));
}

}  // namespace plimsoll::test
