#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/operator_trace.h"

namespace plimsoll {

/// Whether the file begins as an execution trace does: Chakra (protobuf or JSON) or PyTorch's.
bool holds_operators(const std::string& path);

/// Reads a Chakra trace (protobuf, or JSON with "workload_graph") or an execution trace of PyTorch's ExecutionTraceObserver (of any
/// year, plain or packed with gzip). Types of attributes may be what they like. Dependencies on nodes that are not in the file are
/// counted as losses. Errors name the byte.
Result<OperatorTrace> read_operators(const std::string& path);

}  // namespace plimsoll
