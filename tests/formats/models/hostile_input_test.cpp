#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/model/parameters.h"
#include "formats/models/hf_config.h"
#include "formats/models/hf_weights.h"
#include "formats/models/model_zoo.h"
#include "formats/models/resolve_model.h"
#include "formats/models/safetensors_file.h"
#include "formats/models/shape_words.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

// Every reader gets inputs that were valid and then damaged. It must return: a value that holds its own invariants or an
// error with words. A crash, a throw or an endless loop fails the program.

constexpr std::uint64_t kSeed = 20240613;

/// All damaged forms of `valid`: cut at each byte, each byte replaced, numbers made huge, brackets piled up.
std::vector<std::string> damaged(const std::string& valid) {
  std::vector<std::string> forms;
  std::mt19937_64 random(kSeed);
  for (std::size_t i = 0; i < valid.size(); ++i) {
    forms.push_back(valid.substr(0, i));
    for (int k = 0; k < 4; ++k) {
      forms.push_back(valid);
      forms.back()[i] = static_cast<char>(random() % 256);
    }
    forms.push_back(valid.substr(0, i) + valid.substr(i + 1));
    if (valid[i] < '0' || valid[i] > '9') continue;
    for (const char* number : {"0", "-1", "18446744073709551615", "9223372036854775807", "1e308", "1e999", "4294967296", "0.5"}) {
      forms.push_back(valid.substr(0, i) + number + valid.substr(i + 1));
    }
  }
  for (const char* brackets : {"[", "{\"a\":", "]", "}"}) {
    std::string deep;
    for (int k = 0; k < 20000; ++k) deep += brackets;
    forms.push_back(deep);
    forms.push_back(valid.substr(0, valid.size() / 2) + deep);
    const std::size_t colon = valid.find(':');
    if (colon != std::string::npos) forms.push_back(valid.substr(0, colon + 1) + deep + valid.substr(colon + 1));
  }
  return forms;
}

template <typename Value>
void check_error_has_words(const Result<Value>& result) {
  if (!result && result.error().what.empty()) FAIL("an error without words");
}

void check_spec(const Result<ModelSpec>& spec) {
  check_error_has_words(spec);
  if (spec && !validate(*spec)) FAIL("a reader accepted an invalid model");
}

const std::string& tiny_config() {
  static const std::string kText = *write_hf_config(*parse_shape_words("llama:layers=1,hidden=8,heads=2,ffn=6,vocab=11"));
  return kText;
}

TEST_CASE("damaged shapes in words never break the parser") {
  for (const std::string& text : damaged("llama:layers=2,hidden=64,heads=4,kv_heads=2,vocab=10,tied=true,rope_theta=5e5")) {
    check_spec(parse_shape_words(text));
  }
  for (const char* shape : {"resnet:depths=2-2,bottleneck=true,width=64,groups=2", "densenet:depths=2-2,growth=8,classes=3",
                            "t5:layers=1,hidden=8,heads=2,vocab=9,experts=4,gating=switch", "mpt:layers=1,hidden=8,heads=2,vocab=9,position=alibi,bias=false"}) {
    REQUIRE(parse_shape_words(shape));
    for (const std::string& text : damaged(shape)) check_spec(parse_shape_words(text));
  }
  for (const std::string& text : damaged("gpt2-medium")) check_spec(resolve_model(text));
}

TEST_CASE("damaged configurations never break the reader") {
  const std::string gpt2 = *write_hf_config(*parse_shape_words("gpt:layers=2,hidden=64,heads=4,vocab=10"));
  const std::string scaled = R"({"model_type":"mistral","vocab_size":9,"hidden_size":8,"intermediate_size":8,"num_hidden_layers":1,
    "num_attention_heads":2,"num_key_value_heads":1,"max_position_embeddings":8,"sliding_window":4,"layer_types":["x"],
    "rope_scaling":{"type":"linear","factor":2.0,"rope_theta":5.0},"rope_parameters":{"rope_theta":5.0},"auto_map":{"a":"b"}})";
  const std::string mpt = R"({"model_type":"mpt","vocab_size":9,"d_model":8,"n_layers":1,"n_heads":2,"expansion_ratio":4,
    "attn_config":{"alibi":true,"clip_qkv":3}})";
  const std::string t5 = R"({"model_type":"switch_transformers","vocab_size":9,"d_model":8,"d_kv":4,"d_ff":8,"num_layers":2,
    "num_heads":2,"num_experts":2,"num_sparse_encoder_layers":1,"num_sparse_decoder_layers":1})";
  const std::string qwen = R"({"model_type":"qwen","vocab_size":9,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,
    "intermediate_size":8})";
  for (const std::string* valid : {&gpt2, &tiny_config(), &scaled, &mpt, &t5, &qwen}) {
    REQUIRE(parse_hf_config(*valid, "c", "m"));
    for (const std::string& text : damaged(*valid)) {
      const auto found = parse_hf_config(text, "c", "m");
      check_error_has_words(found);
      if (found) check_spec(found->spec);
    }
  }
}

TEST_CASE("damaged safetensors headers never break the parser, and accepted ones stay within their file") {
  const std::string valid =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  for (const std::string& text : damaged(valid)) {
    const Bytes file_bytes(8 + static_cast<std::int64_t>(text.size()) + 16);
    const auto header = parse_safetensors_header(text, file_bytes, "x");
    check_error_has_words(header);
    if (!header) continue;
    for (const SafetensorsTensor& tensor : header->tensors) {
      if (tensor.offset < Bytes(8) || tensor.offset + tensor.bytes > file_bytes) FAIL("a tensor beyond its file");
    }
    check_spec(infer_model_spec(*header, "x"));
  }
}

TEST_CASE("damaged safetensors files never break opening, matching, inferring or reading") {
  const ScratchFolder folder;
  const ModelSpec spec = *parse_shape_words("gpt:layers=1,hidden=2,heads=1,vocab=2,positions=1,ffn=1");
  const auto tensors = hf_tensors(spec);
  const auto path = folder.path() / "m.safetensors";
  {
    SafetensorsPlan plan = plan_hf_file(tensors, StoredType::kBf16);
    plan.metadata["num_attention_heads"] = "1";
    auto writer = SafetensorsWriter::create(path, plan);
    REQUIRE(writer);
    for (const HfTensor& tensor : tensors) {
      REQUIRE(writer->append(tensor.name, std::vector<float>(static_cast<std::size_t>(tensor.elements()), 1.0f)));
    }
    REQUIRE(writer->finish());
  }
  const std::string valid = bytes_of(path);
  REQUIRE(resolve_model(path.string()));
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = valid;
    // The eight bytes of the length are hit as often as the rest together.
    const std::size_t range = random() % 2 == 0 ? 8 : bytes.size();
    bytes[random() % range] = static_cast<char>(random() % 256);
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    const auto damaged_path = folder.file("d.safetensors", bytes);
    check_spec(resolve_model(damaged_path.string()));
    const auto file = SafetensorsFile::open(damaged_path);
    check_error_has_words(file);
    if (!file) continue;
    check_error_has_words(match_hf_tensors(tensors, file->header(), "d"));
    for (const SafetensorsTensor& tensor : file->header().tensors) {
      std::vector<float> values(static_cast<std::size_t>(tensor.elements));
      check_error_has_words(file->read(tensor, 0, values));
    }
  }
  CHECK(folder.names() == std::set<std::string>{"d.safetensors", "m.safetensors"});
}

TEST_CASE("damaged zoos never break the reader") {
  const std::string valid = R"({"format_version": 1, "models": [{"name": "tiny", "aliases": ["t"], "notes": ["n"],
    "shape": "gpt:layers=1,hidden=4,heads=1,vocab=8", "parameters": 4380, "published": "4K", "origin": "by hand"}]})";
  REQUIRE(parse_model_zoo(valid, "z"));
  for (const std::string& text : damaged(valid)) check_error_has_words(parse_model_zoo(text, "z"));
}

}  // namespace
}  // namespace plimsoll
