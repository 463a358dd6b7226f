#pragma once

#include <string>

#include "core/base/result.h"
#include "core/trace/operator_trace.h"

namespace plimsoll {

/// Reads JSON that holds operators: PyTorch's execution trace ("nodes") or Chakra's ("workload_graph"). The file streams.
Result<OperatorTrace> read_operator_json(const std::string& path);

}  // namespace plimsoll
