#include "executor/kernels/experts/place_tokens.h"

#include <vector>

#include "executor/kernels/experts/gating.h"
#include "executor/kernels/experts/routing_random.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kElements = std::int64_t{1} << 15;  // of one task that clears

/// Carries out one router's decisions; a group is one task, so that its tokens come in order.
template <typename T>
struct Placement {
  const OpShape& s;
  const T *scores, *gates;
  const Routing& routing;
  const RouterStatistics& statistics;
  std::uint64_t key;  ///< of the second experts' numbers

  [[nodiscard]] Range tokens_of(std::int64_t group) const { return range_at(group, s.rows, s.rows / s.groups); }

  /// GShard, algorithm 1, line 19: the second expert with twice its weight as probability; others always.
  [[nodiscard]] bool is_sent(std::int64_t token, std::int64_t rank) const {
    if (gating_of(s) != GatingKind::kGShard || rank == 0 || s.constant == 0) return true;
    return 2 * static_cast<double>(gates[token * s.choices + rank]) > to_unit(random_at(key, static_cast<std::uint64_t>(token)));
  }

  /// Rows within the group and expert. What is asked for counts towards the capacity even when it is not sent (line 22).
  void decide(std::int64_t group) const {
    std::vector<std::int64_t> asked(static_cast<std::size_t>(s.experts), 0);
    std::int32_t* kept = routing.kept + group * s.experts;
    std::fill(kept, kept + s.experts, 0);
    std::int64_t refused = 0;
    const Range tokens = tokens_of(group);
    for (std::int64_t rank = 0; rank < s.choices; ++rank) {
      for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
        const std::int64_t at = t * s.choices + rank;
        const std::int32_t e = routing.choices[at];
        const bool has_room = s.capacity == 0 || asked[static_cast<std::size_t>(e)]++ < s.capacity;
        const bool sent = is_sent(t, rank);
        if (sent && !has_room) ++refused;
        routing.rows[at] = sent && has_room ? kept[e]++ : -1;
      }
    }
    statistics.load(group, 0) = static_cast<double>(refused);  // until it is summed
  }

  /// Rows of experts one after another, within an expert those of the groups.
  void number_rows() const {
    std::int32_t next = 0;
    for (std::int64_t e = 0; e < s.experts; ++e) {
      routing.starts[e] = next;
      for (std::int64_t g = 0; g < s.groups; ++g) next += routing.kept[g * s.experts + e];
    }
    routing.starts[s.experts] = next;
    double refused = 0;
    for (std::int64_t g = 0; g < s.groups; ++g) refused += statistics.load(g, 0);
    statistics.refused() = refused / static_cast<double>(s.rows * s.choices);
  }

  void assign(std::int64_t group) const {
    std::vector<std::int32_t> first(static_cast<std::size_t>(s.experts));
    for (std::int64_t e = 0; e < s.experts; ++e) {
      std::int32_t start = routing.starts[e];
      for (std::int64_t g = 0; g < group; ++g) start += routing.kept[g * s.experts + e];
      first[static_cast<std::size_t>(e)] = start;
    }
    const Range tokens = tokens_of(group);
    for (std::int64_t at = tokens.begin * s.choices; at < tokens.end * s.choices; ++at) {
      if (routing.rows[at] < 0) continue;
      routing.rows[at] += first[static_cast<std::size_t>(routing.choices[at])];
      routing.sources[routing.rows[at]] = static_cast<std::int32_t>(at);
    }
  }

  /// The probability that the expert would be among the token's, were its noise drawn once more (Shazeer et al. 2017,
  /// equation 9).
  [[nodiscard]] double load_of(std::int64_t token, std::int64_t e) const {
    const T* of_token = scores + token * scores_of_token(s);
    const T* noisy = of_token + 2 * s.experts;
    const std::int64_t other = threshold_expert(s.experts, noisy, s.choices, routing.choices + token * s.choices, e);
    const double margin = static_cast<double>(of_token[e]) - static_cast<double>(noisy[other]);
    return standard_normal_cdf(margin / static_cast<double>(softplus(of_token[s.experts + e])));
  }

  /// What the losses need of one group and expert, summed in the order of the tokens.
  void note(std::int64_t group, std::int64_t e) const {
    const bool noisy = gating_of(s) == GatingKind::kNoisy, with_load = noisy && s.choices < s.experts;
    const std::int64_t counted = gating_of(s) == GatingKind::kGShard ? 1 : s.choices;  // of its experts: the first alone
    double chosen = 0, weight = 0, load = 0;
    const Range tokens = tokens_of(group);
    for (std::int64_t t = tokens.begin; t < tokens.end; ++t) {
      for (std::int64_t rank = 0; rank < s.choices; ++rank) {
        if (routing.choices[t * s.choices + rank] != e) continue;
        if (rank < counted) ++chosen;
        if (noisy) weight += static_cast<double>(gates[t * s.choices + rank]);
      }
      if (!noisy) weight += static_cast<double>(scores[t * s.experts + e]);
      if (with_load) load += load_of(t, e);
    }
    statistics.chosen(group, e) = chosen;
    statistics.weight(group, e) = weight;
    statistics.load(group, e) = load;
  }
};

}  // namespace

template <typename S>
void clear_unused(const Routing& routing, std::int64_t width, S* rows, WorkerPool& pool) {
  const std::int64_t begin = routing.used() * width, elements = routing.bound * width - begin;
  pool.run(range_count(elements, kElements), [&](std::int64_t task, std::int64_t) {
    const Range range = range_at(task, elements, kElements);
    std::fill(rows + begin + range.begin, rows + begin + range.end, S{});
  });
}

template <typename T>
void place_tokens(const OpShape& s, const T* scores, const T* gates, const Routing& routing,
                  const RouterStatistics& statistics, const LaunchContext& context) {
  const Placement<T> place{s, scores, gates, routing, statistics, draw_key(context, Draw::kSecondExpert)};
  context.pool->run(s.groups, [&](std::int64_t group, std::int64_t) { place.decide(group); });
  place.number_rows();
  std::fill(routing.sources + routing.used(), routing.sources + routing.bound, -1);
  context.pool->run(s.groups, [&](std::int64_t group, std::int64_t) { place.assign(group); });
  context.pool->run(s.groups * s.experts,
                    [&](std::int64_t task, std::int64_t) { place.note(task / s.experts, task % s.experts); });
}

template void clear_unused(const Routing&, std::int64_t, float*, WorkerPool&);
template void clear_unused(const Routing&, std::int64_t, double*, WorkerPool&);
template void clear_unused(const Routing&, std::int64_t, Bf16*, WorkerPool&);
template void clear_unused(const Routing&, std::int64_t, Fp16*, WorkerPool&);
template void place_tokens(const OpShape&, const float*, const float*, const Routing&, const RouterStatistics&,
                           const LaunchContext&);
template void place_tokens(const OpShape&, const double*, const double*, const Routing&, const RouterStatistics&,
                           const LaunchContext&);

}  // namespace plimsoll::kernels
