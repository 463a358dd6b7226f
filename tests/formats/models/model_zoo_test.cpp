#include "formats/models/model_zoo.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "core/model/parameters.h"

namespace plimsoll {
namespace {

/// "6.7B" as a number.
double published_count(const std::string& text) {
  const double scale = std::map<char, double>{{'K', 1e3}, {'M', 1e6}, {'B', 1e9}}.at(text.back());
  return std::stod(text) * scale;
}

TEST_CASE("the zoo's models have exactly the parameters that their authors' checkpoints have") {
  // Unique weights of the checkpoints on Hugging Face. gpt2 by hand: wte 50257·768 + wpe 1024·768 = 39383808; a block has
  // 2·2·768 (norms) + 768·2304 + 2304 + 768·768 + 768 + 768·3072 + 3072 + 3072·768 + 768 = 7087872, twelve of them
  // 85054464; the last norm 1536; together 124439808.
  const std::map<std::string, std::int64_t> published = {
      {"gpt2", 124'439'808},          {"gpt2-medium", 354'823'168},     {"gpt2-large", 774'030'080},
      {"gpt2-xl", 1'557'611'200},     {"distilgpt2", 81'912'576},       {"llama-7b", 6'738'415'616},
      {"llama2-7b", 6'738'415'616},   {"llama2-13b", 13'015'864'320},   {"llama2-70b", 68'976'648'192},
      {"llama3-8b", 8'030'261'248},   {"llama3-70b", 70'553'706'496},   {"llama3.2-1b", 1'235'814'400},
      {"llama3.2-3b", 3'212'749'824}, {"tinyllama-1.1b", 1'100'048'384}, {"mistral-7b", 7'241'732'096},
      {"mistral-7b-v0.3", 7'248'023'552}, {"qwen2-0.5b", 494'032'768},      {"qwen2-1.5b", 1'543'714'304},
      {"qwen2-7b", 7'615'616'512},    {"qwen2-72b", 72'706'203'648},    {"qwen2.5-3b", 3'085'938'688},
      {"qwen2.5-14b", 14'770'033'664}, {"qwen2.5-32b", 32'763'876'352}, {"qwen3-0.6b", 596'049'920},
      {"qwen3-1.7b", 1'720'574'976},  {"qwen3-4b", 4'022'468'096},      {"qwen3-8b", 8'190'735'360},
      {"qwen3-14b", 14'768'307'200},  {"qwen3-32b", 32'762'123'264},    {"gemma-2b", 2'506'172'416},
      {"gemma-7b", 8'537'680'896},    {"phi-1.5", 1'418'270'720},       {"phi-2", 2'779'683'840},
      {"smollm-135m", 134'515'008},   {"smollm-360m", 361'821'120},     {"smollm-1.7b", 1'711'376'384},
      {"bert-base", 109'514'298},     {"bert-large", 335'174'458},      {"bert-base-cased", 108'340'804},
      {"vit-b/16", 86'567'656},       {"vit-l/16", 304'326'632},        {"vit-h/14", 632'045'800},
      {"deit-tiny", 5'717'416},       {"deit-small", 22'050'664},
  };
  for (const auto& [name, count] : published) {
    CAPTURE(name);
    const auto model = find_in_zoo(name);
    REQUIRE(model);
    CHECK(parameter_count(model->spec) == count);
    CHECK(model->parameters == count);
  }
}

TEST_CASE("BERT and ViT have the published parameters also without their heads") {
  // BertModel by hand: tables (30522 + 512 + 2)·768 = 23835648, their norm 1536; a block as GPT-2's 7087872, twelve of them
  // 85054464; pooler 768·768 + 768 = 590592; together 109482240. A classifier of 2 adds 2·768 + 2.
  const ModelSpec bert = find_in_zoo("bert-base")->spec;
  CHECK(parameter_count(with_classes(bert, 2)) == 109'482'240 + 1538);
  // ViT-B/16: class token 768, patches 768·768 + 768, positions 197·768, twelve blocks 85054464, norm 1536: 85798656;
  // 1000 classes add 769000.
  CHECK(parameter_count(with_classes(find_in_zoo("vit-b/16")->spec, 1000)) == 85'798'656 + 769'000);
}

TEST_CASE("every zoo model is valid, has an origin and is within 2 % of the rounded count its authors state") {
  const auto zoo = built_in_zoo();
  CHECK(zoo.size() >= 30);
  for (const ZooModel& model : zoo) {
    CAPTURE(model.name);
    CHECK(validate(model.spec).has_value());
    CHECK(model.spec.name == model.name);
    CHECK_FALSE(model.origin.empty());
    const double stated = published_count(model.published);
    CHECK(std::abs(static_cast<double>(model.parameters) - stated) <= 0.02 * stated);
  }
}

TEST_CASE("find_in_zoo ignores case and hyphens, knows aliases, and keeps 1.3b apart from 13b") {
  CHECK(find_in_zoo("GPT2_XL")->name == "gpt2-xl");
  CHECK(find_in_zoo("meta-llama/Llama-2-7b-hf")->name == "llama2-7b");
  CHECK(find_in_zoo("gpt3-1.3b")->spec.hidden == 2048);
  CHECK(find_in_zoo("gpt3-13b")->spec.hidden == 5120);
}

TEST_CASE("names that people have from the hub are known, with the parameters that it shows") {
  const std::pair<const char*, std::int64_t> names[] = {{"microsoft/resnet-50", 25557032},
                                                        {"meta-llama/Llama-2-70b-chat-hf", 68976648192},
                                                        {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", 1100048384},
                                                        {"Qwen/QwQ-32B", 32763876352},
                                                        {"Qwen/Qwen2.5-Coder-7B-Instruct", 7615616512},
                                                        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 1777088000},
                                                        {"deepseek-ai/DeepSeek-R1-Distill-Llama-8B", 8030261248}};
  for (const auto& [name, parameters] : names) {
    INFO(name);
    const auto found = find_in_zoo(name);
    REQUIRE(found);
    CHECK(parameter_count(found->spec) == parameters);
  }
}

TEST_CASE("an unknown model is refused with the nearest names") {
  const auto model = find_in_zoo("gpt2-larg");
  REQUIRE_FALSE(model);
  CHECK(model.error().kind == ErrorKind::kUnknownName);
  CHECK(model.error().remedy.find("gpt2-large") != std::string::npos);
}

TEST_CASE("what a spec cannot say about a zoo model stands in its notes") {
  CHECK(find_in_zoo("gpt2")->notes.empty());
  const auto gpt3 = find_in_zoo("gpt3");
  REQUIRE(gpt3->notes.size() == 1);
  CHECK(gpt3->notes[0].changes_numbers);
  CHECK(gpt3->notes[0].text.find("sparse attention") != std::string::npos);
}

TEST_CASE("a zoo row whose stated count is not that of its shape is refused by name") {
  // 1 layer of hidden 4, ffn 16: 12·16 + 13·4 = 244; embeddings (8 + 1024)·4 = 4128; last norm 8; together 4380.
  const auto row = [](const std::string& count) {
    return R"({"format_version": 1, "models": [{"name": "tiny", "shape": "gpt:layers=1,hidden=4,heads=1,vocab=8",
      "parameters": )" + count + R"(, "published": "4K", "origin": "by hand"}]})";
  };
  CHECK(parse_model_zoo(row("4380"), "zoo.json"));
  const auto wrong = parse_model_zoo(row("4381"), "zoo.json");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().text() == "zoo.json: tiny: the shape has 4380 parameters, but 4381 are stated");
}

TEST_CASE("a zoo of another format version, with a name twice or without an origin is refused") {
  CHECK_FALSE(parse_model_zoo(R"({"format_version": 2, "models": []})", "z"));
  CHECK_FALSE(parse_model_zoo(R"({"models": []})", "z"));
  const std::string row = R"({"name": "a", "shape": "gpt:layers=1,hidden=4,heads=1,vocab=8", "parameters": 4380,
    "published": "4K")";
  const std::string head = R"({"format_version": 1, "models": [)";
  CHECK(parse_model_zoo(head + row + R"(, "origin": "o"}]})", "z"));
  CHECK_FALSE(parse_model_zoo(head + row + "}]}", "z"));
  CHECK_FALSE(parse_model_zoo(head + row + R"(, "origin": "o"},)" + row + R"(, "origin": "o"}]})", "z"));
}

}  // namespace
}  // namespace plimsoll
