#include "formats/models/hf_checkpoint.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/models/hf_folder.h"
#include "formats/models/hf_weights.h"
#include "formats/models/shape_words.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kIndex = "model.safetensors.index.json";

ModelSpec small() { return *parse_shape_words("llama:layers=1,hidden=8,heads=2,ffn=6,vocab=11"); }

/// Writes each shard with the given values everywhere.
void write_shard(const fs::path& folder, const HfShard& shard, float value = 1) {
  auto writer = SafetensorsWriter::create(folder / shard.file, plan_hf_file(shard.tensors, StoredType::kF32));
  REQUIRE(writer);
  for (const HfTensor& tensor : shard.tensors) {
    REQUIRE(writer->append(tensor.name, std::vector<float>(static_cast<std::size_t>(tensor.elements()), value)));
  }
  REQUIRE(writer->finish());
}

/// A folder of shards and their index.
std::vector<HfShard> write_shards(const ScratchFolder& folder) {
  const auto shards = divide_into_shards(hf_tensors(small()), StoredType::kF32, Bytes(600));
  for (const HfShard& shard : shards) write_shard(folder.path(), shard);
  (void)folder.file(std::string(kIndex), shard_index(shards, StoredType::kF32));
  return shards;
}

std::string refusal(const fs::path& path) {
  const auto opened = HfCheckpoint::open(path);
  REQUIRE_FALSE(opened);
  return opened.error().text();
}

TEST_CASE("shards hold at most the limit each, or one tensor, and every tensor once in its order") {
  const auto tensors = hf_tensors(small());
  for (const std::int64_t limit : {1, 600, 1 << 20}) {
    const auto shards = divide_into_shards(tensors, StoredType::kF32, Bytes(limit));
    std::vector<std::string> names;
    for (const HfShard& shard : shards) {
      std::int64_t bytes = 0;
      for (const HfTensor& tensor : shard.tensors) {
        bytes += 4 * tensor.elements();
        names.push_back(tensor.name);
      }
      CHECK((bytes <= limit || shard.tensors.size() == 1));
    }
    REQUIRE(names.size() == tensors.size());
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(names[i] == tensors[i].name);
  }
  CHECK(divide_into_shards(tensors, StoredType::kF32, Bytes(1 << 20)).front().file == "model.safetensors");
  CHECK(divide_into_shards(tensors, StoredType::kF32, Bytes(1)).front().file ==
        "model-00001-of-000" + std::to_string(tensors.size()) + ".safetensors");
}

TEST_CASE("a sharded checkpoint opens by folder and by index, and every tensor lies in the shard that holds it") {
  const ScratchFolder folder;
  const auto shards = write_shards(folder);
  REQUIRE(shards.size() > 2);
  for (const fs::path& path : {folder.path(), folder.path() / kIndex}) {
    const auto opened = HfCheckpoint::open(path);
    REQUIRE(opened);
    const auto places = opened->match(hf_tensors(small()));
    REQUIRE(places);
    for (const CheckpointTensor& place : *places) {
      CHECK(opened->files()[place.file].header().find(place.tensor.name) != nullptr);
    }
  }
}

TEST_CASE("model.safetensors comes before an index, as transformers chooses, and another file only when it is alone") {
  const ScratchFolder folder;
  CHECK(weights_in(folder.path()).empty());
  const auto one = folder.file("a.safetensors", "");
  CHECK(weights_in(folder.path()) == one);
  (void)folder.file("b.safetensors", "");
  CHECK(weights_in(folder.path()).empty());
  const auto index = folder.file(std::string(kIndex), "");
  CHECK(weights_in(folder.path()) == index);
  const auto whole = folder.file("model.safetensors", "");
  CHECK(weights_in(folder.path()) == whole);
}

TEST_CASE("a shard that is missing or torn is named, and so is a tensor that does not lie where the index says") {
  const ScratchFolder folder;
  const auto shards = write_shards(folder);
  const fs::path last = folder.path() / shards.back().file;
  fs::resize_file(last, fs::file_size(last) - 1);
  CHECK_THAT(refusal(folder.path()), Catch::Contains(shards.back().file) && Catch::Contains("truncated"));
  fs::remove(last);
  CHECK_THAT(refusal(folder.path()), Catch::Contains("the shard " + shards.back().file) && Catch::Contains("is missing"));
  write_shard(folder.path(), shards.back());

  const json sound = json::parse(shard_index(shards, StoredType::kF32));
  const std::string tensor = shards[0].tensors[0].name;
  json index = sound;
  index["weight_map"][tensor] = shards[1].file;
  (void)folder.file(std::string(kIndex), index.dump());
  CHECK_THAT(refusal(folder.path()), Catch::Contains("'" + tensor + "' lies in " + shards[0].file));
  index = sound;
  index["weight_map"]["ghost"] = shards[1].file;
  (void)folder.file(std::string(kIndex), index.dump());
  CHECK_THAT(refusal(folder.path()), Catch::Contains("'ghost' is not in " + shards[1].file));
  (void)folder.file(std::string(kIndex), sound.dump());
  HfShard twice = shards[1];
  twice.tensors.push_back(shards[0].tensors[0]);
  write_shard(folder.path(), twice);
  CHECK_THAT(refusal(folder.path()), Catch::Contains("'" + tensor + "' lies in") && Catch::Contains("as well"));
}

TEST_CASE("an index that leads out of its folder, has no map or is no JSON is refused") {
  const ScratchFolder folder;
  for (const char* text : {R"({"weight_map": {"a": "../x.safetensors"}})", R"({"weight_map": {"a": "/etc/passwd"}})",
                           R"({"weight_map": {"a": 3}})", R"({"weight_map": {}})", R"({"metadata": {}})", "[]", "{"}) {
    CAPTURE(text);
    (void)folder.file(std::string(kIndex), text);
    CHECK_FALSE(HfCheckpoint::open(folder.path()));
  }
}

TEST_CASE("a folder of pickled weights says how to convert them") {
  const ScratchFolder folder;
  (void)folder.file("pytorch_model.bin", "");
  CHECK_THAT(refusal(folder.path()), Catch::Contains("safe_serialization=True"));
}

TEST_CASE("a weight that is NaN or infinite is refused by tensor, row and column, as the file has them") {
  const ScratchFolder folder;
  const ModelSpec spec = *parse_shape_words("gpt:layers=1,hidden=8,heads=2,vocab=11,positions=5");
  for (const float broken : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const auto tensors = hf_tensors(spec);
    auto writer = SafetensorsWriter::create(folder.path() / "m.safetensors", plan_hf_file(tensors, StoredType::kBf16));
    REQUIRE(writer);
    for (const HfTensor& tensor : tensors) {
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()), 1.0F);
      if (tensor.name.ends_with("h.0.mlp.c_fc.weight")) values[3 * 32 + 5] = broken;  // [8, 32]: row 3, column 5
      REQUIRE(writer->append(tensor.name, values));
    }
    REQUIRE(writer->finish());
    const auto opened = HfCheckpoint::open(folder.path() / "m.safetensors");
    REQUIRE(opened);
    const auto places = opened->match(tensors);
    REQUIRE(places);
    std::string told;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::vector<float> group(static_cast<std::size_t>(lay_out_parameters(spec).at(tensors[i].group).elements));
      const auto read = read_hf_tensor(opened->files()[0], (*places)[i].tensor, tensors[i], group);
      CHECK(read.has_value() != tensors[i].name.ends_with("h.0.mlp.c_fc.weight"));
      if (!read) told = read.error().what;
    }
    CHECK_THAT(told, Catch::Contains("c_fc.weight' holds") && Catch::Contains("in row 3, column 5"));
  }
}

}  // namespace
}  // namespace plimsoll
