#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/operator_trace.h"

namespace plimsoll {

/// The sort that Chakra numbers so (NodeType of et_def.proto).
OperatorSort chakra_sort(std::int64_t type);

/// Reads a Chakra execution trace: messages with their lengths before them, metadata first, then a node each (et_def.proto).
Result<OperatorTrace> read_chakra_protobuf(const std::string& path);

}  // namespace plimsoll
