#include "sim/inference/hooked_modules.h"

namespace plimsoll {
namespace {

class Lister {
 public:
  explicit Lister(const ModelSpec& spec) : spec_(spec) {}

  HookedModules list() {
    enter({});  // the model with its head
    enter({});  // and without it: OPT's decoder is called past the module around it
    const std::size_t embedding = list_.elements.size();
    enter({spec_.vocabulary * spec_.hidden});
    if (learns_positions()) enter({spec_.position_rows() * spec_.hidden});
    for (block_ = 0; block_ < spec_.layers; ++block_) add_block();
    block_ = -1;
    add_norm();
    if (spec_.tied_head) list_.order.push_back({.block = -1, .parameters = {embedding}});
    if (!spec_.tied_head) enter({spec_.vocabulary * spec_.hidden});
    return std::move(list_);
  }

 private:
  [[nodiscard]] bool learns_positions() const { return spec_.positions == PositionKind::kLearned; }

  void enter(const std::vector<std::int64_t>& elements) {
    HookedModule module{.block = block_, .parameters = {}};
    for (const std::int64_t count : elements) {
      module.parameters.push_back(list_.elements.size());
      list_.elements.push_back(count);
    }
    list_.order.push_back(std::move(module));
  }

  void add_norm() {
    std::vector<std::int64_t> elements;
    if (spec_.norm_weight) elements.push_back(spec_.hidden);
    if (spec_.norm == NormKind::kLayerNorm && spec_.norm_bias) elements.push_back(spec_.hidden);
    enter(elements);
  }

  void add_linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
    enter(bias ? std::vector<std::int64_t>{inputs * outputs, outputs} : std::vector<std::int64_t>{inputs * outputs});
  }

  void add_block() {
    enter({});
    add_norm();
    enter({});  // attention
    add_linear(spec_.hidden, spec_.heads * spec_.head_dim, spec_.qkv_bias);
    for (int i = 0; i < 2; ++i) add_linear(spec_.hidden, spec_.kv_heads * spec_.head_dim, spec_.qkv_bias);
    if (!learns_positions()) enter({});
    add_linear(spec_.attention_width(), spec_.hidden, spec_.projection_bias);
    add_norm();
    if (is_gated(spec_.activation)) enter({});
    add_linear(spec_.hidden, spec_.ffn, spec_.mlp_bias);
    enter({});  // the activation
    if (is_gated(spec_.activation)) add_linear(spec_.hidden, spec_.ffn, spec_.mlp_bias);
    add_linear(spec_.ffn, spec_.hidden, spec_.mlp_bias);
  }

  const ModelSpec& spec_;
  HookedModules list_;
  std::int64_t block_ = -1;
};

}  // namespace

HookedModules hooked_modules(const ModelSpec& spec) { return Lister(spec).list(); }

}  // namespace plimsoll
