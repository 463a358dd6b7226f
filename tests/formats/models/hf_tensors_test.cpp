#include "formats/models/hf_tensors.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "formats/models/hf_weights.h"
#include "formats/models/shape_words.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kSpecs[] = {
    "gpt:layers=2,hidden=8,heads=2,vocab=11,positions=5",
    "gpt:layers=1,hidden=8,heads=2,vocab=11,positions=5,tied=false,ffn=6",
    "llama:layers=2,hidden=8,heads=4,kv_heads=2,ffn=6,vocab=11",
    "llama:layers=1,hidden=8,heads=2,head_dim=6,ffn=6,vocab=11,tied=true",
    "qwen2:layers=1,hidden=8,heads=4,kv_heads=2,ffn=6,vocab=11",
    "qwen3:layers=2,hidden=8,heads=4,kv_heads=2,head_dim=6,ffn=6,vocab=11",
    "gemma:layers=1,hidden=8,heads=2,kv_heads=1,head_dim=6,ffn=6,vocab=11",
    "phi:layers=1,hidden=8,heads=2,ffn=6,vocab=11",
    "mixtral:layers=2,hidden=8,heads=4,kv_heads=2,ffn=6,vocab=11,experts=3",
    "gpt:layers=2,hidden=8,heads=2,vocab=11,positions=5,experts=3,gating=noisy,every=2,expert_ffn=5",
};

const HfTensor& named(const std::vector<HfTensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
  REQUIRE(found != tensors.end());
  return *found;
}

/// One vector a group with values first, first + 1, …
std::vector<std::vector<float>> numbered_groups(const ModelSpec& spec) {
  std::vector<std::vector<float>> groups;
  float next = 1;
  for (const ParameterGroup& group : lay_out_parameters(spec).groups) {
    groups.emplace_back(static_cast<std::size_t>(group.elements));
    std::iota(groups.back().begin(), groups.back().end(), next);
    next += static_cast<float>(group.elements);
  }
  return groups;
}

std::filesystem::path write_file(const std::filesystem::path& path, const ModelSpec& spec) {
  const auto tensors = hf_tensors(spec);
  auto writer = SafetensorsWriter::create(path, plan_hf_file(tensors, StoredType::kF32));
  REQUIRE(writer);
  const auto groups = numbered_groups(spec);
  for (const HfTensor& tensor : tensors) REQUIRE(append_hf_tensor(*writer, tensor, groups[tensor.group.index]));
  REQUIRE(writer->finish());
  return path;
}

TEST_CASE("the Hugging Face tensors cover every parameter exactly once") {
  for (const char* text : kSpecs) {
    CAPTURE(text);
    ModelSpec spec = *parse_shape_words(text);
    for (const bool biases : {false, true}) {
      if (spec.family == Family::kLlama) spec.qkv_bias = spec.projection_bias = spec.mlp_bias = biases;
      const ParameterLayout layout = lay_out_parameters(spec);
      std::vector<std::vector<int>> covered;
      for (const ParameterGroup& group : layout.groups) covered.emplace_back(static_cast<std::size_t>(group.elements), 0);
      for (const HfTensor& tensor : hf_tensors(spec)) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i) ++covered[tensor.group.index].at(static_cast<std::size_t>(tensor.offset + i));
      }
      for (const auto& group : covered) CHECK(std::count(group.begin(), group.end(), 1) == static_cast<std::ptrdiff_t>(group.size()));
    }
  }
}

TEST_CASE("GPT-2's Conv1D weights are stored transposed, its other tensors are not") {
  const auto tensors = hf_tensors(*parse_shape_words(kSpecs[0]));
  const HfTensor qkv = named(tensors, "transformer.h.1.attn.c_attn.weight");
  CHECK(qkv.transposed);
  CHECK(qkv.shape == std::vector<std::int64_t>{8, 24});  // [in, 3·hidden]
  CHECK(qkv.rows == 24);
  CHECK(qkv.columns == 8);
  CHECK(named(tensors, "transformer.h.0.mlp.c_proj.weight").shape == std::vector<std::int64_t>{32, 8});
  CHECK_FALSE(named(tensors, "transformer.wte.weight").transposed);
  CHECK(named(tensors, "transformer.h.0.attn.c_attn.bias").shape == std::vector<std::int64_t>{24});
  CHECK(std::none_of(tensors.begin(), tensors.end(), [](const auto& tensor) { return tensor.name == "lm_head.weight"; }));
}

TEST_CASE("Llama's q, k and v are consecutive rows of the fused projection, and so are gate and up") {
  // hidden 8, 4 heads of 2, 2 key-value heads: q has 8 rows, k and v 4 each, all of 8 columns.
  const auto tensors = hf_tensors(*parse_shape_words(kSpecs[2]));
  const std::string block = "model.layers.1.";
  const HfTensor q = named(tensors, block + "self_attn.q_proj.weight");
  const HfTensor k = named(tensors, block + "self_attn.k_proj.weight");
  const HfTensor v = named(tensors, block + "self_attn.v_proj.weight");
  CHECK(q.shape == std::vector<std::int64_t>{8, 8});
  CHECK(k.shape == std::vector<std::int64_t>{4, 8});
  CHECK(k.offset - q.offset == 64);
  CHECK(v.offset - k.offset == 32);
  const HfTensor gate = named(tensors, block + "mlp.gate_proj.weight");
  CHECK(named(tensors, block + "mlp.up_proj.weight").offset - gate.offset == 48);  // 6 · 8
  CHECK(named(tensors, "lm_head.weight").shape == std::vector<std::int64_t>{11, 8});
}

TEST_CASE("a model written in Hugging Face names and read again is the same, element for element") {
  const ScratchFolder folder;
  for (const char* text : kSpecs) {
    CAPTURE(text);
    const ModelSpec spec = *parse_shape_words(text);
    const auto file = SafetensorsFile::open(write_file(folder.path() / "m.safetensors", spec));
    REQUIRE(file);
    const auto tensors = hf_tensors(spec);
    const auto stored = match_hf_tensors(tensors, file->header(), "m");
    REQUIRE(stored);
    const auto expected = numbered_groups(spec);
    auto groups = expected;
    for (auto& group : groups) std::fill(group.begin(), group.end(), 0.0f);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      REQUIRE(read_hf_tensor(*file, (*stored)[i], tensors[i], groups[tensors[i].group.index]));
    }
    CHECK(groups == expected);
  }
}

TEST_CASE("a transposed tensor in the file is the transpose of ours, also when it takes several pieces") {
  const ScratchFolder folder;
  // c_fc: ours [1200, 1000], 1.2 million elements, more than one piece of 2^20.
  const ModelSpec spec = *parse_shape_words("gpt:layers=1,hidden=1000,heads=1,vocab=3,positions=2,ffn=1200");
  const auto file = SafetensorsFile::open(write_file(folder.path() / "m.safetensors", spec));
  REQUIRE(file);
  const auto tensors = hf_tensors(spec);
  const HfTensor wanted = named(tensors, "transformer.h.0.mlp.c_fc.weight");
  std::vector<float> raw(1'200'000);
  REQUIRE(file->read(*file->header().find(wanted.name), 0, raw));
  const auto groups = numbered_groups(spec);
  const auto& group = groups[wanted.group.index];
  std::int64_t wrong = 0;
  for (std::int64_t in = 0; in < 1000; ++in) {
    for (std::int64_t out = 0; out < 1200; ++out) wrong += raw[in * 1200 + out] != group[wanted.offset + out * 1000 + in];
  }
  CHECK(wrong == 0);
}

/// A header with the tensors of `spec`, changed by `edit`.
SafetensorsHeader header_of(const ModelSpec& spec) {
  SafetensorsHeader header;
  for (const HfTensor& tensor : hf_tensors(spec)) {
    header.tensors.push_back({.name = tensor.name, .shape = tensor.shape, .elements = tensor.elements()});
  }
  return header;
}

TEST_CASE("missing, misshapen, integer and surplus tensors are refused by name; old buffers and a tied head are not") {
  const ModelSpec spec = *parse_shape_words(kSpecs[0]);
  const auto wanted = hf_tensors(spec);
  SafetensorsHeader header = header_of(spec);
  for (SafetensorsTensor& tensor : header.tensors) tensor.name.erase(0, 12);  // as OpenAI's own file names them
  header.tensors.push_back({.name = "h.0.attn.bias", .shape = {1, 1, 5, 5}});
  header.tensors.push_back({.name = "lm_head.weight", .shape = {11, 8}});
  REQUIRE(match_hf_tensors(wanted, header, "m"));

  const auto what = [&](const SafetensorsHeader& changed) { return match_hf_tensors(wanted, changed, "m").error().what; };
  SafetensorsHeader changed = header;
  changed.tensors[0].shape = {12, 8};
  CHECK(what(changed) == "tensor 'wte.weight' has shape [12, 8], but the model needs [11, 8]");
  changed = header;
  changed.tensors[0].type = StoredType::kI32;
  CHECK(what(changed) == "tensor 'wte.weight' holds I32; expected F32, BF16 or F16");
  changed = header;
  changed.tensors.erase(changed.tensors.begin());
  CHECK(what(changed) == "the tensor 'transformer.wte.weight' of shape [11, 8] is missing");
  changed = header;
  changed.tensors.push_back({.name = "h.2.ln_1.weight", .shape = {8}});
  CHECK(what(changed) == "the model has no place for tensor 'h.2.ln_1.weight'");
}

TEST_CASE("a model is inferred from its tensors when the heads are told, and asked for when they are not") {
  for (const char* text : kSpecs) {
    CAPTURE(text);
    const ModelSpec spec = *parse_shape_words(text);
    if (spec.qk_norm || spec.family == Family::kGemma || spec.family == Family::kPhi || spec.experts.count > 0) continue;
    SafetensorsHeader header = header_of(spec);
    const auto asked = infer_model_spec(header, text);
    REQUIRE_FALSE(asked);
    CHECK(asked.error().what == "the shapes do not tell the number of attention heads");
    CHECK(asked.error().remedy.find("config.json") != std::string::npos);
    header.metadata["num_attention_heads"] = std::to_string(spec.heads);
    const auto found = infer_model_spec(header, text);
    REQUIRE(found);
    CHECK(*found == spec);
  }
}

TEST_CASE("the norms of Qwen 3's heads tell their number; Phi's tensors need their config.json") {
  const ModelSpec qwen = *parse_shape_words("qwen3:layers=2,hidden=8,heads=4,kv_heads=2,head_dim=6,ffn=6,vocab=11");
  auto found = infer_model_spec(header_of(qwen), "m");
  REQUIRE(found);
  found->name = qwen.name;
  CHECK(*found == qwen);
  const auto phi = infer_model_spec(header_of(*parse_shape_words("phi:layers=1,hidden=8,heads=2,ffn=6,vocab=11")), "m");
  REQUIRE_FALSE(phi);
  CHECK_THAT(phi.error().remedy, Catch::Contains("config.json"));
}

TEST_CASE("rotary frequencies in old Llama files tell the heads") {
  const ModelSpec spec = *parse_shape_words(kSpecs[2]);
  SafetensorsHeader header = header_of(spec);
  header.tensors.push_back({.name = "model.layers.0.self_attn.rotary_emb.inv_freq", .shape = {1}});  // head_dim 2
  const auto found = infer_model_spec(header, "m");
  REQUIRE(found);
  CHECK(found->heads == 4);
  CHECK(found->kv_heads == 2);
}

TEST_CASE("tensors of another architecture are refused") {
  SafetensorsHeader header;
  header.tensors.push_back({.name = "bert.embeddings.weight", .shape = {1, 1}});
  CHECK_FALSE(infer_model_spec(header, "m"));
}

}  // namespace
}  // namespace plimsoll
