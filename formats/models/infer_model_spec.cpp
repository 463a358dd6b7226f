#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "formats/models/hf_tensors.h"

namespace plimsoll {
namespace {

using Shape = std::vector<std::int64_t>;

/// Reads a model's sizes off its tensors' shapes.
class ShapeReader {
 public:
  ShapeReader(const SafetensorsHeader& header, std::string_view where) : header_(header), where_(where) {}

  Result<ModelSpec> read() {
    if (has("wte.weight") || has("transformer.wte.weight")) {
      read_gpt2(has("wte.weight") ? "" : "transformer.");
    } else if (has("model.embed_tokens.weight")) {
      read_llama();
    } else {
      fault("the tensor names are those of neither GPT-2 (wte.weight) nor Llama (model.embed_tokens.weight)");
    }
    if (error_) return fail(*error_);
    if (auto valid = validate(spec_); !valid) return fail(valid.error());
    return spec_;
  }

 private:
  [[nodiscard]] bool has(std::string_view name) const { return header_.find(name) != nullptr; }

  void fault(std::string what, std::string remedy = "put the model's config.json beside the file") {
    if (!error_) error_ = Error{.kind = ErrorKind::kInput, .what = std::move(what), .where = where_, .remedy = std::move(remedy)};
  }

  /// Size number `axis` of a tensor with `axes` of them; 1 after noting a fault.
  std::int64_t size(const std::string& name, std::size_t axis, std::size_t axes = 2) {
    const SafetensorsTensor* tensor = header_.find(name);
    if (tensor == nullptr) fault(fmt::format("the tensor '{}' is missing", name));
    if (tensor != nullptr && tensor->shape.size() != axes) fault(fmt::format("tensor '{}' should have {} axes", name, axes));
    return error_ ? 1 : tensor->shape[axis];
  }

  /// Blocks 0, 1, … as far as `prefix + N + suffix` is there; the header bounds the count.
  std::int64_t count_layers(const std::string& prefix, const std::string& suffix) const {
    std::int64_t layers = 0;
    while (has(fmt::format("{}{}{}", prefix, layers, suffix))) ++layers;
    return layers;
  }

  std::optional<std::int64_t> stated_heads() const {
    const auto found = header_.metadata.find("num_attention_heads");
    if (found == header_.metadata.end()) return {};
    std::int64_t heads = 0;
    const std::string& text = found->second;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), heads);
    if (problem != std::errc{} || end != text.data() + text.size() || heads <= 0) return {};
    return heads;
  }

  void ask_for_heads() { fault("the shapes do not tell the number of attention heads"); }

  void read_gpt2(const std::string& prefix) {
    spec_ = family_defaults(Family::kGpt2);
    spec_.vocabulary = size(prefix + "wte.weight", 0);
    spec_.hidden = size(prefix + "wte.weight", 1);
    spec_.max_positions = size(prefix + "wpe.weight", 0);
    spec_.layers = count_layers(prefix + "h.", ".mlp.c_fc.weight");
    spec_.ffn = size(prefix + "h.0.mlp.c_fc.weight", 1);
    spec_.tied_head = !has("lm_head.weight");
    if (!stated_heads()) ask_for_heads();
    spec_.heads = stated_heads().value_or(1);
    spec_.kv_heads = spec_.heads;
    if (spec_.hidden % spec_.heads != 0) fault(fmt::format("{} heads do not divide the hidden size", spec_.heads));
    spec_.head_dim = spec_.hidden / spec_.heads;
  }

  void read_llama() {
    const std::string block = "model.layers.0.";
    spec_ = family_defaults(Family::kLlama);
    spec_.vocabulary = size("model.embed_tokens.weight", 0);
    spec_.hidden = size("model.embed_tokens.weight", 1);
    spec_.max_positions = 2048;  // rotary positions leave no shape behind
    spec_.layers = count_layers("model.layers.", ".mlp.gate_proj.weight");
    spec_.ffn = size(block + "mlp.gate_proj.weight", 0);
    spec_.tied_head = !has("lm_head.weight");
    spec_.qkv_bias = has(block + "self_attn.q_proj.bias");
    spec_.projection_bias = has(block + "self_attn.o_proj.bias");
    spec_.qk_norm = has(block + "self_attn.q_norm.weight");
    if (spec_.qk_norm) spec_.family = Family::kQwen3;
    if (!spec_.qk_norm && spec_.qkv_bias && !spec_.projection_bias) spec_.family = Family::kQwen2;
    spec_.mlp_bias = has(block + "mlp.gate_proj.bias");
    read_llama_heads(size(block + "self_attn.q_proj.weight", 0), size(block + "self_attn.k_proj.weight", 0));
  }

  void read_llama_heads(std::int64_t query_width, std::int64_t key_width) {
    const std::string frequencies = "model.layers.0.self_attn.rotary_emb.inv_freq";  // [head_dim / 2], in old files
    if (spec_.qk_norm) {
      spec_.head_dim = size("model.layers.0.self_attn.q_norm.weight", 0, 1);
    } else if (const auto heads = stated_heads(); heads && query_width % *heads == 0) {
      spec_.head_dim = query_width / *heads;
    } else if (has(frequencies)) {
      spec_.head_dim = 2 * size(frequencies, 0, 1);
    } else {
      ask_for_heads();
    }
    if (spec_.head_dim == 0) return fault("the heads have no width");
    if (query_width % spec_.head_dim != 0 || key_width % spec_.head_dim != 0) return fault("the heads do not divide q_proj and k_proj");
    spec_.heads = query_width / spec_.head_dim;
    spec_.kv_heads = key_width / spec_.head_dim;
    if (spec_.kv_heads == 0) fault("k_proj has no heads");
  }

  const SafetensorsHeader& header_;
  std::string where_;
  ModelSpec spec_;
  std::optional<Error> error_;
};

}  // namespace

Result<ModelSpec> infer_model_spec(const SafetensorsHeader& header, std::string_view where) {
  auto spec = ShapeReader(header, where).read();
  if (spec) spec->name = where;
  return spec;
}

}  // namespace plimsoll
