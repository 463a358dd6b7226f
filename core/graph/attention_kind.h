#pragma once

#include <string_view>

#include "core/graph/op.h"

namespace plimsoll {

/// "causal", …; "unknown" for a number of a file that is no kind.
std::string_view to_text(AttentionKind kind);

/// Whether it is attention in either pass: then the variant of its shape is an AttentionKind.
bool is_attention(OpKind kind);

}  // namespace plimsoll
