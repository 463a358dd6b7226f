#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/operator_graph.h"

namespace plimsoll {

/// Whether the text looks like a log of operators: lines of JSON with an INSTRUCTION each.
bool is_operator_log(std::string_view text);

/// Reads a log of operators as Dynamic Tensor Rematerialization's tools write it (Kirisame et al., ICLR 2021): a line
/// of JSON each for CONSTANT, MEMORY, ALIAS, CALL, MUTATE, COPY, COPY_FROM, RELEASE and ANNOTATE; times in nanoseconds,
/// sizes in bytes. What comes before an annotation START is left out. An operator that changes values in place is one
/// that writes new ones. Errors name the line.
Result<OperatorGraph> read_operator_log(std::string_view text, const std::string& where);

}  // namespace plimsoll
