#include "core/plan/operand_pattern.h"

#include "core/graph/kind_table.h"

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

constexpr unsigned bit(Phase phase) { return 1u << static_cast<unsigned>(phase); }

constexpr unsigned kForward = bit(Phase::kForward);
constexpr unsigned kBackward = bit(Phase::kBackward);
constexpr unsigned kOptimizer = bit(Phase::kOptimizer);
constexpr unsigned kAgain = kForward | kBackward;  // forward, and once more in backward where it is recomputed

// Of updates, by what they keep.
constexpr std::string_view kNoState = "urRW|rrRwW";
constexpr std::string_view kOneState = "uurRW|rrrRwwW";
constexpr std::string_view kOneStateAndWorkspace = "uurRWW|rrrRwwWW";
constexpr std::string_view kTwoStates = "uuurRW|rrrrRwwwW";

struct Admitted {
  std::string_view operands;
  unsigned phases = 0;  ///< bits
};

constexpr KindTable<Admitted> kAdmitted{{{
    {OpKind::kEmbedding, {"rrRRRw", kAgain}},
    {OpKind::kEmbeddingBackward, {"rrRxWW", kBackward}},
    {OpKind::kClassToken, {"rrrw", kAgain}},
    {OpKind::kClassTokenBackward, {"rwww", kBackward}},
    {OpKind::kFirstToken, {"rw", kAgain}},
    {OpKind::kFirstTokenBackward, {"rw", kBackward}},
    {OpKind::kNorm, {"rrRww", kAgain}},
    {OpKind::kNormBackward, {"rrrrxwWw|rrrrxw", kBackward}},
    {OpKind::kLinear, {"rrRx", kAgain}},
    {OpKind::kLinearBackwardInput, {"rrx", kBackward}},
    {OpKind::kLinearBackwardWeight, {"rrxW", kBackward}},
    {OpKind::kHeadNorm, {"rrrww", kAgain}},
    {OpKind::kHeadNormBackward, {"urrrrwww|urrrrw", kBackward}},
    {OpKind::kRope, {"u", kAgain}},
    {OpKind::kRopeBackward, {"u", kBackward}},
    {OpKind::kDequantize, {"rw", kAgain}},
    {OpKind::kAdd, {"rrw", kAgain}},
    {OpKind::kActivation, {"rw", kAgain}},
    {OpKind::kActivationBackward, {"rrw", kBackward}},
    {OpKind::kCrossEntropy, {"urRx", kAgain}},
    {OpKind::kLoss, {"rrxW", kForward}},
    // Attention.
    {OpKind::kAttention, {"rRwww", kAgain}},
    {OpKind::kAttentionBackward, {"rRrrrww", kBackward}},
    {OpKind::kKeysValues, {"rw", kAgain}},
    {OpKind::kKeysValuesBackward, {"ru", kBackward}},
    {OpKind::kAttentionStep, {"rruuw", kAgain}},
    {OpKind::kAttentionStepBackward, {"rrrrruxw", kBackward}},
    {OpKind::kDistanceBias, {"rw", kAgain}},
    {OpKind::kDistanceBiasBackward, {"rw", kBackward}},
    {OpKind::kBiasedAttention, {"rrwww", kAgain}},
    {OpKind::kBiasedAttentionBackward, {"rrrrrwxw", kBackward}},
    {OpKind::kCrossAttention, {"rrwww", kAgain}},
    {OpKind::kCrossAttentionBackward, {"rrrrrwww", kBackward}},
    // A mixture of experts.
    {OpKind::kRouter, {"rrRwwww", kAgain}},
    {OpKind::kRouterBackward, {"rrRrrrrrruwWw", kBackward}},
    {OpKind::kDispatch, {"rrw", kAgain}},
    {OpKind::kDispatchBackward, {"rrw", kBackward}},
    {OpKind::kExpertLinear, {"rrRrw", kAgain}},
    {OpKind::kExpertLinearBackwardInput, {"rrrw", kBackward}},
    {OpKind::kExpertLinearBackwardWeight, {"rrrwW", kBackward}},
    {OpKind::kExpertDropout, {"ur", kAgain}},
    {OpKind::kCombine, {"rrrw", kAgain}},
    {OpKind::kCombineBackward, {"rrrrww", kBackward}},
    {OpKind::kExpertBalance, {"+ww", kForward}},  // a loss scale is read as statistics are
    {OpKind::kShareRouting, {"rww", kAgain}},
    // Sums of gradients, and updates.
    {OpKind::kAccumulate, {"rx", kBackward | kOptimizer}},
    {OpKind::kSquaredNorm, {"rw", kBackward | kOptimizer}},
    {OpKind::kClipFactor, {"rwW|rwuW", kOptimizer}},
    {OpKind::kSgd, {kNoState, kOptimizer}},
    {OpKind::kMomentum, {kOneState, kOptimizer}},
    {OpKind::kLion, {kOneState, kOptimizer}},
    {OpKind::kAdafactor, {kOneState, kOptimizer}},
    {OpKind::kLars, {kOneState, kOptimizer}},
    {OpKind::kSm3, {kOneStateAndWorkspace, kOptimizer}},
    {OpKind::kMuon, {kOneStateAndWorkspace, kOptimizer}},
    {OpKind::kAdam, {kTwoStates, kOptimizer}},
    {OpKind::kAdamW, {kTwoStates, kOptimizer}},
    {OpKind::kAdam8bit, {kTwoStates, kOptimizer}},
    {OpKind::kLamb, {kTwoStates, kOptimizer}},
    // Exchanges, which are no launches.
    {OpKind::kGatherRoutings, {}},
    {OpKind::kToExperts, {}},
    {OpKind::kFromExperts, {}},
}}};

}  // namespace

std::string_view operand_pattern(OpKind kind) { return kAdmitted[kind].operands; }

bool matches_pattern(std::string_view pattern, std::span<const Use> uses, std::uint32_t guard) {
  if (guard == kNoGuard && all_match(pattern, uses)) return true;  // nearly always
  const std::size_t bar = pattern.find('|');
  if (matches_form(pattern.substr(0, bar), uses, guard)) return true;
  return bar != std::string_view::npos && matches_pattern(pattern.substr(bar + 1), uses, guard);
}

bool belongs_to_phase(OpKind kind, Phase phase) { return (kAdmitted[kind].phases & bit(phase)) != 0; }

}  // namespace plimsoll
