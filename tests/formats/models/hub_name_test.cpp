#include "formats/models/hub_name.h"

#include <catch2/catch.hpp>

#include "formats/models/resolve_model.h"

namespace plimsoll {
namespace {

TEST_CASE("names of fine-tunes and stored types on the hub lead to the model whose sizes they have") {
  const std::pair<const char*, const char*> named[] = {
      {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
      {"unsloth/Qwen3-4B-Instruct-2507-unsloth-bnb-4bit", "qwen3-4b-2507"},  // not the 4B before it, of other positions
      {"unsloth/Qwen3-4B-bnb-4bit", "qwen3-4b"},
      {"unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama3.1-8b"},
      {"NousResearch/Llama-2-7b-hf", "llama2-7b"},
      {"mistralai/Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
      {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
      {"google/gemma-2-9b-it", "gemma-2-9b"},
      {"bartowski/Llama-3.2-3B-Instruct-GGUF", "llama3.2-3b"},
      {"deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"},
      {"Qwen/Qwen3-8B-FP8", "qwen3-8b"},
      {"tiiuae/falcon-7b-instruct", "falcon-7b"},
      {"OLMo-2-1124-7B-Instruct", "olmo-2-7b"},
  };
  for (const auto& [name, zoo] : named) {
    INFO(name);
    const auto found = match_hub_name(name);
    REQUIRE(found);
    CHECK(found->model.name == zoo);
    CHECK_THAT(found->note, Catch::Contains(name) && Catch::Contains(zoo));
  }
}

TEST_CASE("a name whose sizes nothing tells is none of the zoo's") {
  for (const char* name : {"Qwen/Qwen2.5-7B-Instruct-1M", "lmsys/vicuna-7b-v1.5", "meta-llama/Llama-3.2-11B-Vision", "instruct", "it-4bit", "/",
                           "", "-", "org/", "gpt2-medium-large"}) {
    INFO(name);
    CHECK_FALSE(match_hub_name(name));
  }
  CHECK_FALSE(match_hub_name(std::string(100000, '-')));
}

TEST_CASE("what was assumed of a hub's name stands beside the model, and that its weights are decoded where they are stored in few bits") {
  const auto found = describe_model("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit");
  REQUIRE(found);
  CHECK(found->spec.name == "llama3.1-8b");
  REQUIRE_FALSE(found->notes.empty());
  CHECK_THAT(found->notes.back().text, Catch::Contains("sizes of llama3.1-8b") && Catch::Contains("--base-bits"));
  CHECK_FALSE(found->notes.back().changes_numbers);
  const auto tuned = describe_model("Qwen/Qwen2.5-7B-Instruct");
  REQUIRE(tuned);
  CHECK_THAT(tuned->notes.back().text, !Catch::Contains("--base-bits"));
  CHECK(describe_model("Qwen/Qwen2.5-7B")->notes.empty());
}

}  // namespace
}  // namespace plimsoll
