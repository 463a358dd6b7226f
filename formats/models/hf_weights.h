#pragma once

#include <span>

#include "formats/models/hf_tensors.h"
#include "formats/models/safetensors_file.h"
#include "formats/models/safetensors_writer.h"

namespace plimsoll {

/// Reads `stored` of `file` into its place in `group`, the fp32 elements of parameter group `wanted.group`, transposing
/// where the file does. A value that is NaN or infinite is an error that names its place in the file's tensor.
Result<void> read_hf_tensor(const SafetensorsFile& file, const SafetensorsTensor& stored, const HfTensor& wanted,
                            std::span<float> group);

/// Appends the tensor's part of `group` to `writer` in the file's own orientation.
Result<void> append_hf_tensor(SafetensorsWriter& writer, const HfTensor& tensor, std::span<const float> group);

/// The writer's plan for `tensors`.
SafetensorsPlan plan_hf_file(const std::vector<HfTensor>& tensors, StoredType type);

}  // namespace plimsoll
