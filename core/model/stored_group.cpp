#include "core/model/stored_group.h"

#include <algorithm>

namespace plimsoll {
namespace {

/// Where an encoded group's tensors begin: every type is aligned, and no two share a line of the cache.
constexpr Bytes kTensorAlignment{64};

}  // namespace

bool is_encoded(const ParameterGroup& group) {
  return std::any_of(group.tensors.begin(), group.tensors.end(),
                     [](const auto& t) { return t.storage != BaseStorage::kCompute; });
}

StoredTensor stored_tensor(const ParameterGroup& group, const ParameterTensor& tensor, DType compute) {
  if (!is_encoded(group)) return {compute, Bytes(tensor.offset * size_of(compute)), Bytes(tensor.elements() * size_of(compute))};
  Bytes offset;
  for (const ParameterTensor& before : group.tensors) {
    if (before.offset >= tensor.offset) break;
    offset = align_up(offset + bytes_in(before.storage, before.elements(), compute), kTensorAlignment);
  }
  const DType dtype = tensor.storage == BaseStorage::kCompute ? compute : DType::kUint8;
  return {dtype, offset, bytes_in(tensor.storage, tensor.elements(), compute)};
}

Bytes stored_bytes(const ParameterGroup& group, DType compute) {
  if (group.tensors.empty()) return Bytes(0);
  const StoredTensor last = stored_tensor(group, group.tensors.back(), compute);
  return last.offset + last.bytes;
}

}  // namespace plimsoll
