#pragma once

#include "core/model/parameters.h"

namespace plimsoll {

/// Where a tensor lies in the bytes in which its group's weights are kept, and in what type they are seen: that of compute,
/// or bytes when they are encoded.
struct StoredTensor {
  DType dtype = DType::kFp32;
  Bytes offset;
  Bytes bytes;

  /// Both in elements of `dtype`.
  [[nodiscard]] std::int64_t first() const { return offset.count / size_of(dtype); }
  [[nodiscard]] std::int64_t elements() const { return bytes.count / size_of(dtype); }
};

/// Whether any tensor of the group is kept otherwise than compute reads it.
bool is_encoded(const ParameterGroup& group);

/// `tensor` must be one of the group's.
StoredTensor stored_tensor(const ParameterGroup& group, const ParameterTensor& tensor, DType compute);

/// Bytes of all tensors of the group as they are kept.
Bytes stored_bytes(const ParameterGroup& group, DType compute);

}  // namespace plimsoll
