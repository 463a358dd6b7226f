#include "core/graph/attention_kind.h"

namespace plimsoll {

std::string_view to_text(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::kCausal:
      return "causal";
    case AttentionKind::kFull:
      return "full";
    case AttentionKind::kPadded:
      return "padded";
    case AttentionKind::kCausalAlibi:
      return "causal ALiBi";
  }
  return "unknown";
}

bool is_attention(OpKind kind) { return attends_forward(kind) || attends_backward(kind); }

}  // namespace plimsoll
