// Readers of what a model's folder holds, and of a model in words.

#include <filesystem>
#include <fstream>

#include "core/graph/optimizer_state.h"
#include "core/model/parameters.h"
#include "executor/checkpoint/training_state.h"
#include "formats/models/hf_checkpoint.h"
#include "formats/models/hf_config.h"
#include "formats/models/model_zoo.h"
#include "formats/models/peft_config.h"
#include "formats/models/resolve_model.h"
#include "formats/models/safetensors_file.h"
#include "formats/models/shape_words.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/parser.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

void check_spec(const Result<ModelSpec>& spec) {
  if (has_value(spec)) require(validate(*spec).has_value(), "a model that was read is a valid one");
}

void read_config(std::string_view bytes) {
  const auto found = parse_hf_config(bytes, "config.json", "m");
  if (!has_value(found)) return;
  check_spec(found->spec);
  static_cast<void>(has_value(write_hf_config(found->spec)));
}

void read_zoo(std::string_view bytes) {
  const auto zoo = parse_model_zoo(bytes, "zoo.json");
  if (!has_value(zoo)) return;
  for (const ZooModel& model : *zoo) check_spec(model.spec);
}

void read_words(std::string_view bytes) { check_spec(parse_shape_words(bytes)); }

/// Reads the first values of every tensor of a file that was accepted: they must lie in it.
void read_safetensors(std::string_view bytes) {
  const MemoryFile memory(bytes);
  const auto file = SafetensorsFile::open(memory.path());
  if (!has_value(file)) return;
  for (const SafetensorsTensor& tensor : file->header().tensors) {
    require(tensor.offset.count >= 8 && tensor.bytes.count >= 0 &&
                tensor.offset + tensor.bytes <= Bytes(static_cast<std::int64_t>(bytes.size())),
            "a tensor lies in its file");
    std::byte first[16];
    const auto count = std::min<std::int64_t>(16, tensor.bytes.count);
    static_cast<void>(
        has_value(file->read_bytes(tensor, Bytes(0), std::span(first).first(static_cast<std::size_t>(count)))));
  }
  check_spec(infer_model_spec(file->header(), "file"));
}

/// A safetensors file of one tensor without elements.
std::string one_tensor(const std::string& name) {
  const std::string header = R"({")" + name + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  return std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header;
}

/// An index of shards names files; only those beside it may be opened.
void read_shard_index(std::string_view bytes) {
  static const TemporaryFolder folder;
  const auto write = [](const std::string& name, std::string_view text) {
    std::ofstream(folder.file(name), std::ios::binary) << text;
  };
  std::filesystem::create_directory(folder.file("inner"));
  write("outside.safetensors", one_tensor("outside"));
  write("inner/one.safetensors", one_tensor("one"));
  write("inner/model.safetensors.index.json", bytes);
  const auto checkpoint = HfCheckpoint::open(folder.file("inner/model.safetensors.index.json"));
  if (has_value(checkpoint)) require(!checkpoint->find("outside"), "shards lie beside their index");
}

void read_peft(std::string_view bytes) {
  static const TemporaryFolder folder;
  std::ofstream(folder.file("adapter_config.json"), std::ios::binary) << bytes;
  static const ModelSpec spec = *parse_shape_words("gpt:layers=1,hidden=8,heads=2,vocab=11");
  SafetensorsHeader header;
  header.tensors = {
      {.name = "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", .shape = {4, 8}, .elements = 32},
      {.name = "base_model.model.transformer.h.0.attn.c_attn.lora_B.weight", .shape = {24, 4}, .elements = 96}};
  const auto config = read_peft_config(folder.path(), spec, header);
  if (has_value(config)) static_cast<void>(write_peft_config(*config, spec));
}

/// A training's state by every way that one is read; places are as long as the executor's, so that a byte too many is seen.
void read_state_as(const std::string& path, const ModelSpec& spec, const Recipe& recipe) {
  const ParameterLayout layout = lay_out_parameters(spec);
  const auto take = [](Bytes bytes, const FillState& fill) {
    std::vector<std::byte> place(static_cast<std::size_t>(bytes.count));
    fill(place);
  };
  const auto steps = load_training_state(path, spec, recipe, [&](TensorKind kind, GroupId group, const FillState& fill) {
    const ParameterGroup& of = layout.groups[group.index];
    if (kind == TensorKind::kScalar) return take(Bytes(sizeof(LossScale)), fill);
    const bool weights = kind == TensorKind::kParameter;  // in the state's type
    take(weights ? Bytes(of.elements * size_of(state_dtype(recipe.precision))) : bytes_of_state(recipe, of, kind), fill);
  });
  if (has_value(steps)) require(*steps >= 0, "a state has no negative number of steps");
  static_cast<void>(has_value(load_trained_weights(path, spec, [&](TensorKind, GroupId group, const FillState& fill) {
    take(Bytes(layout.groups[group.index].elements * size_of(DType::kFp32)), fill);
  })));
}

void read_state(std::string_view bytes) {
  static const ModelSpec spec = *parse_shape_words("llama:layers=1,hidden=4,heads=1,vocab=5,ffn=4");
  static const DataMark data{"corpus.txt", "4000 bytes, xxh3 0123456789abcdef"};
  const MemoryFile memory(bytes);
  for (const Precision precision : {Precision::kFp32, Precision::kFp16Mixed, Precision::kFp64})
    read_state_as(memory.path(), spec, {.precision = precision});
  static_cast<void>(has_value(check_training_state(memory.path())));
  static_cast<void>(has_value(check_data_of_training_state(memory.path(), data)));
}

}  // namespace

std::vector<Parser> model_parsers() {
  return {{"config", read_config},      {"zoo", read_zoo},
          {"shape-words", read_words},  {"safetensors", read_safetensors},
          {"shards", read_shard_index}, {"adapter-config", read_peft},
          {"training-state", read_state}};
}

}  // namespace plimsoll::test
