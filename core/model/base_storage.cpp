#include "core/model/base_storage.h"

namespace plimsoll {
namespace {

constexpr std::int64_t parts(std::int64_t count, std::int64_t each) { return (count + each - 1) / each; }

BlockLayout int8_layout(std::int64_t elements) {
  BlockLayout layout{.blocks = parts(elements, kInt8Block)};
  layout.codes = 4 * layout.blocks;
  layout.bytes = layout.codes + elements;
  return layout;
}

BlockLayout nf4_layout(std::int64_t elements) {
  BlockLayout layout{.blocks = parts(elements, kNf4Block)};
  layout.factors = 4;
  layout.scales = layout.factors + 4 * parts(layout.blocks, kNf4Scales);
  layout.codes = layout.scales + layout.blocks;
  layout.bytes = layout.codes + parts(elements, 2);
  return layout;
}

}  // namespace

BlockLayout block_layout(BaseStorage storage, std::int64_t elements) {
  if (storage == BaseStorage::kInt8) return int8_layout(elements);
  if (storage == BaseStorage::kNf4) return nf4_layout(elements);
  return {};
}

Bytes bytes_in(BaseStorage storage, std::int64_t elements, DType compute) {
  if (storage == BaseStorage::kCompute) return Bytes(elements * size_of(compute));
  if (storage == BaseStorage::kBf16) return Bytes(elements * size_of(DType::kBf16));
  return Bytes(block_layout(storage, elements).bytes);
}

std::string_view to_text(BaseStorage storage) {
  switch (storage) {
    case BaseStorage::kCompute: return "compute";
    case BaseStorage::kBf16: return "bf16";
    case BaseStorage::kInt8: return "int8";
    case BaseStorage::kNf4: return "nf4";
  }
  return "?";
}

}  // namespace plimsoll
