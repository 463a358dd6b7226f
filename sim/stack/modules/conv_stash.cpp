#include "sim/stack/modules/conv_stash.h"

#include <algorithm>

namespace plimsoll {
namespace {

using Kind = ConvLayerKind;

bool reads_numbers(Kind kind) { return kind == Kind::kConvolution || kind == Kind::kBatchNorm || kind == Kind::kLinear; }

}  // namespace

std::int64_t ConvStash::bits_of_place(const ConvLayer& layer) const {
  constexpr std::int64_t kPyTorchs = 64;
  return compression_.exists() ? plimsoll::bits_of_place(layer.kernel) : kPyTorchs;
}

ConvStash::Map& ConvStash::map_of(const Tensor& x) {
  const auto known = std::find_if(maps_.begin(), maps_.end(), [&](const Map& map) { return map->storage() == x.storage.get(); });
  return known != maps_.end() ? *known : maps_.emplace_back(std::make_shared<StashedMap>(x));
}

void ConvStash::reads(const Tensor& made, const Map& map) {
  made.maker->prepare = [map](Tape& tape) { map->bring_back(tape); };
}

double ConvStash::zeros_after(const ConvLayer& layer, double before) const {
  switch (layer.kind) {
    case Kind::kRelu: return compression_.relu_zeros;
    case Kind::kMaxPool: return zeros_of_maxima(before, layer.kernel);
    case Kind::kDropout: return 1 - (1 - before) * (1 - dropout_);
    case Kind::kFlatten: return before;
    default: return 0;
  }
}

void ConvStash::ran(const ConvLayer& layer, const Tensor& in, const Tensor& out) {
  if (!compression_.exists() || !out.maker) return;
  const double before = map_of(in)->facts.zeros;
  if (reads_numbers(layer.kind)) {
    map_of(in)->facts.numbers_read = true;
    reads(out, map_of(in));
  }
  if (layer.kind == Kind::kRelu) {
    map_of(out)->facts.signs_read = true;
    reads(out, map_of(out));
  }
  map_of(out)->facts.zeros = zeros_after(layer, before);
}

void ConvStash::let_go(const std::vector<Tensor>& values) {
  std::erase_if(maps_, [&](const Map& map) {
    const bool held = std::any_of(values.begin(), values.end(), [&](const Tensor& value) { return value.storage.get() == map->storage(); });
    if (!held) map->put_away(tape_, compression_);
    return !held;
  });
}

}  // namespace plimsoll
