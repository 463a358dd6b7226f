#include "core/model/experts.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::int64_t kMostExperts = 4096;

constexpr std::array<std::pair<GatingKind, std::string_view>, 4> kNames{{{GatingKind::kTopK, "topk"},
                                                                         {GatingKind::kSwitch, "switch"},
                                                                         {GatingKind::kGShard, "gshard"},
                                                                         {GatingKind::kNoisy, "noisy"}}};

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// What a gating fixes.
Result<void> validate_choices(const ExpertSpec& e) {
  if (e.per_token < 1 || e.per_token > e.count) {
    return bad(fmt::format("top-k={} does not lie between 1 and experts={}", e.per_token, e.count));
  }
  if (e.gating == GatingKind::kSwitch && e.per_token != 1) return bad("gating=switch sends a token to one expert: top-k=1");
  if (e.gating == GatingKind::kGShard && e.per_token != 2) return bad("gating=gshard sends a token to two experts: top-k=2");
  const bool weighs_alone = e.gating == GatingKind::kTopK || e.gating == GatingKind::kNoisy;
  if (weighs_alone && e.per_token == 1 && !e.plain_gates) {
    return bad(fmt::format("gating={} with top-k=1 has the constant weight 1, from which no router learns", to_text(e.gating)),
               "use gating=switch for one expert a token");
  }
  if (e.load > 0 && e.gating != GatingKind::kNoisy) return bad("only gating=noisy has a load loss");
  if (e.load > 0 && e.per_token == e.count) return bad("a load loss needs experts that are not chosen: top-k below experts");
  return {};
}

}  // namespace

ExpertSpec gating_defaults(GatingKind gating) {
  switch (gating) {
    case GatingKind::kTopK: return {.per_token = 2, .gating = gating};
    case GatingKind::kSwitch: return {.per_token = 1, .gating = gating, .capacity = 1.25, .balance = 0.01};
    case GatingKind::kGShard: return {.per_token = 2, .gating = gating, .capacity = 1, .balance = 0.01};
    case GatingKind::kNoisy: return {.per_token = 2, .gating = gating, .balance = 0.1, .load = 0.1};
  }
  return {};
}

Result<void> validate(const ExpertSpec& e) {
  if (e.count == 0) return {};
  if (e.count < 2 || e.count > kMostExperts) {
    return bad(fmt::format("experts={} does not lie between 2 and {}", e.count, kMostExperts));
  }
  if (auto choices = validate_choices(e); !choices) return choices;
  if (e.every < 1) return bad(fmt::format("every={} must be positive", e.every));
  if (e.groups < 1) return bad(fmt::format("groups={} must be positive", e.groups));
  if (e.dense_first < 0) return bad(fmt::format("dense_first={} is negative", e.dense_first));
  if (e.shared_width < 0) return bad(fmt::format("shared_width={} is negative", e.shared_width));
  if (e.shared_gate && e.shared_width == 0) return bad("a shared expert's gate needs a shared expert: shared_width is 0");
  if (e.width < 0) return bad(fmt::format("expert_ffn={} must be positive", e.width));
  if (!(e.capacity >= 0) || !std::isfinite(e.capacity)) return bad(fmt::format("capacity={} is negative", e.capacity));
  if (e.gating == GatingKind::kGShard && e.capacity == 0) return bad("gating=gshard needs a capacity");
  if (!(e.balance >= 0) || !(e.load >= 0) || !std::isfinite(e.balance + e.load)) {
    return bad("router_loss and load_loss must be finite and not negative");
  }
  if (!(e.dropout >= 0 && e.dropout < 1)) return bad(fmt::format("expert_dropout={} does not lie in [0, 1)", e.dropout));
  return {};
}

std::int64_t capacity_of(const ExpertSpec& e, std::int64_t group_tokens) {
  if (e.capacity == 0) return 0;
  const double even = static_cast<double>(e.per_token * group_tokens) / static_cast<double>(e.count);
  return static_cast<std::int64_t>(std::ceil(e.capacity * even));
}

std::string_view to_text(GatingKind gating) {
  for (const auto& [known, name] : kNames) {
    if (known == gating) return name;
  }
  return "?";
}

std::optional<GatingKind> parse_gating(std::string_view text) {
  for (const auto& [gating, name] : kNames) {
    if (name == text) return gating;
  }
  return std::nullopt;
}

std::string canonical_text(const ExpertSpec& e) {
  if (e.count == 0) return {};
  std::string text = fmt::format(
      " experts={} per_token={} gating={} every={} expert_width={} capacity={:.17g} groups={} balance={:.17g} load={:.17g} "
      "expert_dropout={:.17g}",
      e.count, e.per_token, to_text(e.gating), e.every, e.width, e.capacity, e.groups, e.balance, e.load, e.dropout);
  // What came later is named only where it is there, so that older digests hold.
  if (e.dense_first != 0) text += fmt::format(" dense_first={}", e.dense_first);
  if (e.shared_width != 0) text += fmt::format(" shared_width={}", e.shared_width);
  if (e.shared_gate) text += " shared_gate=true";
  if (e.router_bias) text += " router_bias=true";
  if (e.plain_gates) text += " plain_gates=true";
  if (e.sigmoid_scores) text += " sigmoid_scores=true";
  return text;
}

}  // namespace plimsoll
