#include "executor/kernels/store_tensor.h"

#include <algorithm>

#include "executor/kernels/block_codes.h"
#include "formats/models/half_floats.h"

namespace plimsoll {

void store_tensor(std::span<const float> values, const StoredTensor& where, BaseStorage storage, std::span<std::byte> group) {
  const std::span<std::byte> place =
      group.subspan(static_cast<std::size_t>(where.offset.count), static_cast<std::size_t>(where.bytes.count));
  if (storage != BaseStorage::kCompute) return encode(storage, values, place);
  if (where.dtype == DType::kBf16) return encode(BaseStorage::kBf16, values, place);
  if (where.dtype == DType::kFp16) {
    std::transform(values.begin(), values.end(), reinterpret_cast<std::uint16_t*>(place.data()), fp16_from_float);
  } else if (where.dtype == DType::kFp64) {
    std::copy(values.begin(), values.end(), reinterpret_cast<double*>(place.data()));
  } else {
    std::copy(values.begin(), values.end(), reinterpret_cast<float*>(place.data()));
  }
}

}  // namespace plimsoll
