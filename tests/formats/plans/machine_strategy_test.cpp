#include <catch2/catch.hpp>

#include "formats/machines/machine_json.h"
#include "formats/plans/model_json.h"
#include "formats/text/parse_json.h"
#include "formats/plans/strategy_json.h"
#include "tests/formats/plans/full_plan.h"
#include "tests/support/small_models.h"

namespace plimsoll::test {

TEST_CASE("a machine file gives the platform back") {
  const Platform platform = full_plan().platform;
  const std::string text = write_machine(platform);
  const Result<Platform> read = read_machine(text, "machine.json");
  REQUIRE((read ? "" : read.error().text()) == "");
  CHECK(write_machine(*read) == text);
  CHECK(read->name == platform.name);
  CHECK(read->links[0].path[1].resource == ResourceId(1));
}

TEST_CASE("a machine file with a negative rate or an unknown version is refused") {
  const auto error = [](const std::string& text) {
    const Result<Platform> read = read_machine(text, "m.json");
    return read ? std::string("read without complaint") : read.error().text();
  };
  CHECK(error(R"({"format_version": 1, "resources": [{"name": "dram", "capacity": -1}]})") ==
        "m.json at /resources/0/capacity: expected a number, not negative, found -1");
  CHECK(error(R"({"format_version": 9})").find("format_version 9 is unknown") != std::string::npos);
  CHECK(error(R"({"spaces": []})") == "m.json at /: the key \"format_version\" is missing");
}

TEST_CASE("a strategy file gives the strategy back, and keys left out keep their defaults") {
  const Strategy strategy{.name = "zero-offload", .recompute_every = 1, .parameters = Tier::kHost, .optimizer = Tier::kHost,
                          .gradients = Tier::kHost, .staging_slots = 4, .overlap = false};
  const Result<Strategy> read = read_strategy(write_strategy(strategy), "s.json");
  REQUIRE(read);
  CHECK(*read == strategy);
  const Result<Strategy> defaults = read_strategy(R"({"format_version": 1, "optimizer": "ssd"})", "s.json");
  REQUIRE(defaults);
  CHECK(*defaults == Strategy{.optimizer = Tier::kSsd});
}

TEST_CASE("a misspelt strategy key is refused with the nearest one") {
  const Result<Strategy> read = read_strategy(R"({"format_version": 1, "recompute_evry": 1})", "s.json");
  REQUIRE_FALSE(read);
  CHECK(read.error().what == "unknown key \"recompute_evry\"");
  CHECK(read.error().remedy.find("recompute_every") != std::string::npos);
}

TEST_CASE("an encoder is read from a plan as it was written") {
  ModelSpec masked = small_model(Family::kBert), images = small_model(Family::kVit);
  masked.mask_token = 4;
  images.image.mean = {0.25, 0.5, 1};
  images.image.deviation = {0.5, 2, 3};
  for (const ModelSpec& spec : {masked, with_classes(small_model(Family::kBert), 5), images}) {
    const auto document = parse_json(write_model(spec), "model");
    REQUIRE(document);
    JsonFault fault;
    CHECK(read_model(JsonNode(*document, "", fault)) == spec);
    CHECK_FALSE(fault.error);
  }
}

TEST_CASE("a memory of the segment before and clusters of words are read from a plan as they were written") {
  ModelSpec plain = family_defaults(Family::kTransfoXl);
  plain.name = "small";
  plain.layers = 2, plain.hidden = 32, plain.heads = plain.kv_heads = 4, plain.head_dim = 8, plain.ffn = 64, plain.vocabulary = 256;
  plain.max_positions = 32, plain.memory = 16;
  ModelSpec clusters = plain;
  clusters.adaptive = {.cutoffs = {20, 50}, .divisor = 2};
  for (const ModelSpec& spec : {plain, clusters}) {
    const auto document = parse_json(write_model(spec), "model");
    REQUIRE(document);
    JsonFault fault;
    CHECK(read_model(JsonNode(*document, "", fault)) == spec);
    CHECK_FALSE(fault.error);
  }
}

TEST_CASE("a model may be stated by its sizes alone") {
  const auto document = parse_json(
      R"({"family": "gpt2", "layers": 2, "hidden": 64, "heads": 4, "vocabulary": 100, "max_positions": 32})", "model");
  REQUIRE(document);
  JsonFault fault;
  const ModelSpec spec = read_model(JsonNode(*document, "", fault));
  REQUIRE_FALSE(fault.error);
  CHECK(spec.kv_heads == 4);
  CHECK(spec.head_dim == 16);  // 64 / 4
  CHECK(spec.ffn == 256);      // 4 · 64
  CHECK(spec.norm == NormKind::kLayerNorm);
  CHECK(validate(spec));
}

}  // namespace plimsoll::test
