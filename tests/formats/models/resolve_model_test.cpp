#include "formats/models/resolve_model.h"

#include <catch2/catch.hpp>

#include "core/model/step_size.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_folder.h"
#include "formats/models/hf_weights.h"
#include "formats/models/model_zoo.h"
#include "formats/models/shape_words.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kShape = "llama:layers=1,hidden=8,heads=2,ffn=6,vocab=11";

void write_weights(const std::filesystem::path& path, bool tell_heads) {
  const auto tensors = hf_tensors(*parse_shape_words(kShape));
  SafetensorsPlan plan = plan_hf_file(tensors, StoredType::kBf16);
  if (tell_heads) plan.metadata["num_attention_heads"] = "2";
  auto writer = SafetensorsWriter::create(path, plan);
  REQUIRE(writer);
  for (const HfTensor& tensor : tensors) {
    REQUIRE(writer->append(tensor.name, std::vector<float>(static_cast<std::size_t>(tensor.elements()), 1.0f)));
  }
  REQUIRE(writer->finish());
}

TEST_CASE("a model is found by zoo name, shape, config.json, safetensors file and folder") {
  const ScratchFolder folder;
  ModelSpec spec = *parse_shape_words(kShape);
  CHECK(resolve_model("gpt2") == find_in_zoo("gpt2")->spec);
  CHECK(resolve_model(kShape) == spec);

  const auto config = folder.file("config.json", *write_hf_config(spec));
  spec.name = folder.path().filename().string();
  CHECK(resolve_model(config.string()) == spec);
  CHECK(resolve_model(folder.path().string()) == spec);
  CHECK(describe_model(folder.path().string())->weights.empty());

  write_weights(folder.path() / "model.safetensors", false);
  CHECK(resolve_model((folder.path() / "model.safetensors").string()) == spec);
  const auto found = describe_model(folder.path().string());
  REQUIRE(found);
  CHECK(found->weights == folder.path() / "model.safetensors");
  CHECK(found->spec == spec);
}

TEST_CASE("a safetensors file alone gives its sizes with a note, or asks for the heads") {
  const ScratchFolder folder;
  write_weights(folder.path() / "model.safetensors", true);
  const auto found = describe_model(folder.path().string());
  REQUIRE(found);
  CHECK(found->spec.ffn == 6);
  REQUIRE(found->notes.size() == 1);
  CHECK(found->notes[0].changes_numbers);
  write_weights(folder.path() / "model.safetensors", false);
  CHECK(describe_model(folder.path().string()).error().remedy.find("config.json") != std::string::npos);
}

TEST_CASE("weights of another type than the config states are read as they are, and a note says so") {
  const ScratchFolder folder;
  const ModelSpec spec = *parse_shape_words(kShape);
  write_weights(folder.path() / "model.safetensors", false);  // bf16
  for (const StoredType stated : {StoredType::kBf16, StoredType::kF32}) {
    const auto config = folder.file("config.json", *write_hf_config(spec, {.type = stated}));
    const auto found = describe_model(folder.path().string());
    REQUIRE(found);
    CHECK(found->notes.size() == (stated == StoredType::kF32 ? 1 : 0));
    for (const ModelNote& note : found->notes) {
      CHECK_FALSE(note.changes_numbers);
      CHECK_THAT(note.text, Catch::Contains("float32") && Catch::Contains("BF16"));
    }
  }
}

TEST_CASE("weights that do not belong to the config beside them are refused") {
  const ScratchFolder folder;
  ModelSpec spec = *parse_shape_words(kShape);
  spec.ffn = 7;
  const auto config = folder.file("config.json", *write_hf_config(spec));
  write_weights(folder.path() / "model.safetensors", false);
  CHECK_FALSE(resolve_model(folder.path().string()));
  CHECK(resolve_model(config.string()));
}

TEST_CASE("unknown names suggest the nearest, and paths that are no model say so") {
  const ScratchFolder folder;
  const auto unknown = resolve_model("tinylama");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().kind == ErrorKind::kUnknownName);
  CHECK(unknown.error().remedy.find("tinyllama-1.1b") != std::string::npos);

  const auto text = resolve_model(folder.file("notes.txt", "hello").string());
  REQUIRE_FALSE(text);
  CHECK(text.error().what == "this is no model");
  CHECK(resolve_model(folder.path().string()).error().what == "the folder has neither a config.json nor a safetensors file");
  static_cast<void>(folder.file("adapter_config.json", "{}"));
  CHECK(resolve_model(folder.path().string()).error().what == "the folder holds adapters alone, without the model that they go beside");
  CHECK(resolve_model((folder.path() / "absent.json").string()).error().what == "no such file");
  CHECK(resolve_model((folder.path() / "absent.safetensors").string()).error().kind == ErrorKind::kInput);
  CHECK(resolve_model("/dev/null").error().kind == ErrorKind::kInput);
  CHECK_FALSE(resolve_model(""));
  CHECK_FALSE(resolve_model(std::string_view("gpt2\0", 5)));
  CHECK_FALSE(resolve_model(std::string(100'000, 'x')));
}

TEST_CASE("a folder whose shards are not all there is described by its config, and a note says what is missing") {
  const ScratchFolder folder;
  const ModelSpec spec = *parse_shape_words(kShape);
  const auto shards = divide_into_shards(hf_tensors(spec), StoredType::kBf16, Bytes(400));
  REQUIRE(shards.size() > 1);
  const auto index = folder.file("model.safetensors.index.json", shard_index(shards, StoredType::kBf16));
  CHECK_FALSE(resolve_model(folder.path().string()));
  CHECK_FALSE(resolve_model(index.string()));
  const auto config = folder.file("config.json", *write_hf_config(spec));
  const auto found = describe_model(folder.path().string());
  REQUIRE(found);
  CHECK(found->spec.hidden == 8);
  REQUIRE(found->notes.size() == 1);
  CHECK_THAT(found->notes[0].text, Catch::Contains("the shard model-0000") && Catch::Contains("is missing"));
  CHECK(found->weights.empty());
}

TEST_CASE("a sequence that nobody says is within the window of models that plimsoll's own step runs, and of no others") {
  const auto of = [](const char* name) { return resolve_model(name).value(); };
  CHECK(usual_sequence(of("mistral:layers=1,hidden=64,heads=4,vocab=10,window=77")) == 77);
  CHECK(longest_trained(of("mistral:layers=1,hidden=64,heads=4,vocab=10,window=77,positions=500"), false) == 500);
  CHECK(usual_sequence(of("gpt-oss-20b")) == 1024);  // a window of 128, and attention sinks
  CHECK(longest_trained(of("gpt-oss-20b"), true) == 131072);
  CHECK(usual_sequence(of("bert-base-uncased")) == 512);
  CHECK(usual_sequence(of("vit-b-16")) == 197);
}

}  // namespace
}  // namespace plimsoll
