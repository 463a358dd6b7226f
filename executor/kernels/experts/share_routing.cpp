#include "core/plan/exchange.h"
#include "executor/kernels/experts/routing.h"
#include "executor/kernels/index_check.h"

namespace plimsoll::kernels {
namespace {

/// What of a routing is of the experts from `first` on, in rows of their own.
void take_share(const OpShape& share, std::int64_t first, const Routing& from, const Routing& own) {
  const std::int32_t begin = from.starts[first];
  for (std::int64_t e = 0; e <= own.experts; ++e) own.starts[e] = from.starts[first + e] - begin;
  for (std::int64_t g = 0; g < share.groups; ++g) {
    std::copy_n(from.kept + g * from.experts + first, own.experts, own.kept + g * own.experts);
  }
  for (std::int64_t at = 0; at < share.rows * share.choices; ++at) {
    const std::int64_t e = from.choices[at] - first;
    const bool here = e >= 0 && e < own.experts;
    own.choices[at] = here ? static_cast<std::int32_t>(e) : 0;
    own.rows[at] = here && from.rows[at] >= 0 ? from.rows[at] - begin : -1;
  }
  std::copy_n(from.sources + begin, own.used(), own.sources);
  std::fill(own.sources + own.used(), own.sources + own.bound, -1);
}

}  // namespace

/// Reads the routings of all ranks that share the experts: what each sends to this one's, and what this one sends to each.
void share_routing(const OpShape& s, Operands operands, const LaunchContext&) {
  const OpShape share = shape_of_share(s);
  auto *all = array<std::int32_t>(operands, 0), *own = array<std::int32_t>(operands, 1);
  auto* counts = array<std::int32_t>(operands, 2);
  for (std::int64_t rank = 0; rank < s.terms; ++rank) {
    const Routing from(s, all + rank * routing_elements(s)), to(share, own + rank * routing_elements(share));
    check_routing(s, from);
    const std::int64_t first = s.inputs * share.experts;
    check_room(from.starts[first + share.experts] - from.starts[first], to);
    take_share(share, first, from, to);
    check_routing(share, to);
    counts[s.terms + 1 + rank] = static_cast<std::int32_t>(to.used());
  }
  const Routing sent(s, all + s.inputs * routing_elements(s));
  for (std::int64_t rank = 0; rank <= s.terms; ++rank) counts[rank] = sent.starts[rank * share.experts];
  counts[2 * s.terms + 1] = static_cast<std::int32_t>(expert_rows(s));
  counts[2 * s.terms + 2] = static_cast<std::int32_t>(expert_rows(share));
}

}  // namespace plimsoll::kernels
