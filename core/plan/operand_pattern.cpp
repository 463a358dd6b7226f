#include "core/plan/operand_pattern.h"

namespace plimsoll {
namespace {

bool accepts(char pattern, Access access) {
  switch (pattern) {
    case 'r':
    case 'R':
    case '+':
      return access == Access::kRead;
    case 'w':
    case 'W':
      return access == Access::kWrite;
    case 'u':
      return access == Access::kReadWrite;
    case 'x':
      return access != Access::kRead;
    default:
      return false;
  }
}

bool all_match(std::string_view pattern, std::span<const Use> uses) {
  bool match = pattern.size() == uses.size();
  for (std::size_t i = 0; match && i < uses.size(); ++i) match = accepts(pattern[i], uses[i].access);
  return match;
}

constexpr bool optional(char pattern) { return pattern == 'R' || pattern == 'W'; }

/// Tries what may be absent. `pattern` is of one form.
bool matches_form(std::string_view pattern, std::span<const Use> uses, std::uint32_t guard) {
  if (guard == 0 && !uses.empty()) return matches_form(pattern, uses.subspan(1), kNoGuard);
  if (pattern.empty() || uses.empty()) {
    while (!pattern.empty() && optional(pattern.front())) pattern.remove_prefix(1);
    return pattern.empty() && uses.empty();
  }
  const std::uint32_t next_guard = guard == kNoGuard ? kNoGuard : guard - 1;
  if (accepts(pattern.front(), uses.front().access) && matches_form(pattern.substr(1), uses.subspan(1), next_guard)) {
    return true;
  }
  if (pattern.front() == '+' && uses.front().access == Access::kRead && matches_form(pattern, uses.subspan(1), next_guard)) {
    return true;
  }
  return optional(pattern.front()) && matches_form(pattern.substr(1), uses, guard);
}

}  // namespace

std::string_view operand_pattern(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
      return "rrRRRw";
    case OpKind::kClassToken:
      return "rrrw";
    case OpKind::kFirstToken:
      return "rw";
    case OpKind::kNorm:
      return "rrRww";
    case OpKind::kLinear:
      return "rrRx";
    case OpKind::kHeadNorm:
      return "rrrww";
    case OpKind::kRope:
      return "u";
    case OpKind::kAttention:
      return "rRwww";
    case OpKind::kDequantize:
      return "rw";
    case OpKind::kAdd:
      return "rrw";
    case OpKind::kActivation:
      return "rw";
    case OpKind::kCrossEntropy:
      return "urRx";
    case OpKind::kLoss:
      return "rrxW";
    case OpKind::kEmbeddingBackward:
      return "rrRxWW";
    case OpKind::kClassTokenBackward:
      return "rwww";
    case OpKind::kFirstTokenBackward:
      return "rw";
    case OpKind::kNormBackward:
      return "rrrrxwWw|rrrrxw";
    case OpKind::kLinearBackwardInput:
      return "rrx";
    case OpKind::kLinearBackwardWeight:
      return "rrxW";
    case OpKind::kRopeBackward:
      return "u";
    case OpKind::kHeadNormBackward:
      return "urrrrwww|urrrrw";
    case OpKind::kAttentionBackward:
      return "rRrrrww";
    case OpKind::kActivationBackward:
      return "rrw";
    case OpKind::kRouter:
      return "rrRwwww";
    case OpKind::kDispatch:
    case OpKind::kDispatchBackward:
      return "rrw";
    case OpKind::kExpertLinear:
      return "rrRrw";
    case OpKind::kExpertDropout:
      return "ur";
    case OpKind::kCombine:
    case OpKind::kExpertLinearBackwardInput:
      return "rrrw";
    case OpKind::kExpertBalance:
      return "+ww";  // a loss scale is read as statistics are
    case OpKind::kCombineBackward:
      return "rrrrww";
    case OpKind::kExpertLinearBackwardWeight:
      return "rrrwW";
    case OpKind::kRouterBackward:
      return "rrRrrrrrruwWw";
    case OpKind::kAccumulate:
      return "rx";
    case OpKind::kSquaredNorm:
      return "rw";
    case OpKind::kClipFactor:
      return "rwW|rwuW";
    case OpKind::kSgd:
      return "urRW|rrRwW";
    case OpKind::kMomentum:
    case OpKind::kLion:
    case OpKind::kAdafactor:
    case OpKind::kLars:
      return "uurRW|rrrRwwW";
    case OpKind::kSm3:
    case OpKind::kMuon:
      return "uurRWW|rrrRwwWW";
    case OpKind::kAdam:
    case OpKind::kAdam8bit:
    case OpKind::kLamb:
    case OpKind::kAdamW:
      return "uuurRW|rrrrRwwwW";
    case OpKind::kShareRouting:
      return "rww";
    case OpKind::kGatherRoutings:
    case OpKind::kToExperts:
    case OpKind::kFromExperts:
      return "";  // no launches
    case OpKind::kKeysValues:
      return "rw";
    case OpKind::kAttentionStep:
      return "rruuw";
    case OpKind::kAttentionStepBackward:
      return "rrrrruxw";
    case OpKind::kKeysValuesBackward:
      return "ru";
    case OpKind::kDistanceBias:
    case OpKind::kDistanceBiasBackward:
      return "rw";
    case OpKind::kBiasedAttention:
    case OpKind::kCrossAttention:
      return "rrwww";
    case OpKind::kBiasedAttentionBackward:
      return "rrrrrwxw";
    case OpKind::kCrossAttentionBackward:
      return "rrrrrwww";
  }
  return "";
}

bool matches_pattern(std::string_view pattern, std::span<const Use> uses, std::uint32_t guard) {
  if (guard == kNoGuard && all_match(pattern, uses)) return true;  // nearly always
  const std::size_t bar = pattern.find('|');
  if (matches_form(pattern.substr(0, bar), uses, guard)) return true;
  return bar != std::string_view::npos && matches_pattern(pattern.substr(bar + 1), uses, guard);
}

bool belongs_to_phase(OpKind kind, Phase phase) {
  switch (kind) {
    case OpKind::kEmbedding:
    case OpKind::kClassToken:
    case OpKind::kFirstToken:
    case OpKind::kNorm:
    case OpKind::kLinear:
    case OpKind::kHeadNorm:
    case OpKind::kRope:
    case OpKind::kAttention:
    case OpKind::kDequantize:
    case OpKind::kAdd:
    case OpKind::kActivation:
    case OpKind::kCrossEntropy:
    case OpKind::kRouter:
    case OpKind::kDispatch:
    case OpKind::kExpertLinear:
    case OpKind::kExpertDropout:
    case OpKind::kCombine:
    case OpKind::kShareRouting:
    case OpKind::kKeysValues:
    case OpKind::kAttentionStep:
    case OpKind::kDistanceBias:
    case OpKind::kBiasedAttention:
    case OpKind::kCrossAttention:
      return phase == Phase::kForward || phase == Phase::kBackward;
    case OpKind::kLoss:
    case OpKind::kExpertBalance:
      return phase == Phase::kForward;
    case OpKind::kEmbeddingBackward:
    case OpKind::kClassTokenBackward:
    case OpKind::kFirstTokenBackward:
    case OpKind::kNormBackward:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
    case OpKind::kRopeBackward:
    case OpKind::kHeadNormBackward:
    case OpKind::kAttentionBackward:
    case OpKind::kActivationBackward:
    case OpKind::kCombineBackward:
    case OpKind::kExpertLinearBackwardInput:
    case OpKind::kExpertLinearBackwardWeight:
    case OpKind::kDispatchBackward:
    case OpKind::kRouterBackward:
    case OpKind::kAttentionStepBackward:
    case OpKind::kKeysValuesBackward:
    case OpKind::kDistanceBiasBackward:
    case OpKind::kBiasedAttentionBackward:
    case OpKind::kCrossAttentionBackward:
      return phase == Phase::kBackward;
    case OpKind::kAccumulate:
    case OpKind::kSquaredNorm:
      return phase == Phase::kBackward || phase == Phase::kOptimizer;
    case OpKind::kClipFactor:
    case OpKind::kSgd:
    case OpKind::kMomentum:
    case OpKind::kAdam:
    case OpKind::kLion:
    case OpKind::kAdam8bit:
    case OpKind::kAdafactor:
    case OpKind::kSm3:
    case OpKind::kLamb:
    case OpKind::kLars:
    case OpKind::kAdamW:
    case OpKind::kMuon:
      return phase == Phase::kOptimizer;
    case OpKind::kGatherRoutings:
    case OpKind::kToExperts:
    case OpKind::kFromExperts:
      return false;
  }
  return false;
}

}  // namespace plimsoll
