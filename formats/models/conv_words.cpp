#include "formats/models/conv_words.h"

#include <fmt/format.h>

#include <charconv>

#include "core/model/conv_layers.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMaxValue = 10000;
constexpr ConvNetKind kKinds[] = {ConvNetKind::kResNet, ConvNetKind::kVgg, ConvNetKind::kDenseNet};

Result<void> bad(std::string_view text, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::string(text), .remedy = std::move(remedy)});
}

std::optional<std::int64_t> count_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = problem == std::errc{} && end == text.data() + text.size();
  return whole && value > 0 && value <= kMaxValue ? std::optional(value) : std::nullopt;
}

Result<void> set_depths(ConvNet& net, std::string_view text, std::string_view value) {
  net.depths.clear();
  while (true) {
    const std::size_t dash = value.find('-');
    const auto depth = count_in(value.substr(0, dash));
    if (!depth) return bad(text, fmt::format("depths={} is no list of blocks", value), "write it as depths=3-4-6-3");
    net.depths.push_back(*depth);
    if (dash == std::string_view::npos) return {};
    value.remove_prefix(dash + 1);
  }
}

}  // namespace

std::optional<ConvNetKind> parse_conv_word(std::string_view word) {
  for (const ConvNetKind kind : kKinds) {
    if (to_text(kind) == word) return kind;
  }
  return std::nullopt;
}

std::optional<Result<void>> set_conv_field(ConvNet& net, std::string_view text, std::string_view key, std::string_view value) {
  if (key == "depths") return set_depths(net, text, value);
  for (const auto& [name, flag] : {std::pair("bottleneck", &net.bottleneck), std::pair("batch_norm", &net.batch_norm)}) {
    if (key != name) continue;
    if (value != "true" && value != "false") return bad(text, fmt::format("{}={} is neither true nor false", key, value), {});
    *flag = value == "true";
    return Result<void>{};
  }
  for (const auto& [name, size] : {std::pair("width", &net.width), std::pair("groups", &net.groups), std::pair("growth", &net.growth)}) {
    if (key != name) continue;
    const auto count = count_in(value);
    if (!count) return bad(text, fmt::format("{}={} is not a whole number from 1 to {}", key, value, kMaxValue), {});
    *size = *count;
    return Result<void>{};
  }
  return std::nullopt;
}

void fill_conv_net(ModelSpec& spec) {
  spec.layers = conv_blocks(spec.conv);
  spec.hidden = spec.head_dim = spec.ffn = 1;
  if (!validate(spec)) return;
  for (const ConvLayer& layer : conv_layers(spec).layers) {
    if (layer.kind == ConvLayerKind::kLinear) spec.hidden = spec.head_dim = spec.ffn = layer.channels;
  }
}

std::vector<std::string> conv_words() {
  std::vector<std::string> words;
  for (const ConvNetKind kind : kKinds) words.emplace_back(to_text(kind));
  return words;
}

std::vector<std::string> conv_keys() { return {"depths", "bottleneck", "batch_norm", "width", "groups", "growth"}; }

}  // namespace plimsoll
