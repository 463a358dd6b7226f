#pragma once

#include <cstdint>

#include "core/graph/expert_shape.h"
#include "executor/kernels/kernels.h"

namespace plimsoll::kernels {

/// The parts of a routing tensor (expert_shape.h). A row is one token at one of its experts; expert e has the rows
/// [starts[e], starts[e + 1]).
struct Routing {
  Routing(const OpShape& s, std::int32_t* data)
      : experts(s.experts),
        bound(expert_rows(s)),
        starts(data),
        kept(starts + s.experts + 1),
        choices(kept + s.groups * s.experts),
        rows(choices + s.rows * s.choices),
        sources(rows + s.rows * s.choices) {}

  /// The rows of one expert.
  [[nodiscard]] Range of(std::int64_t expert) const { return {starts[expert], starts[expert + 1]}; }
  /// How many rows there are; those from here to `bound` stand empty.
  [[nodiscard]] std::int64_t used() const { return starts[experts]; }

  std::int64_t experts;
  std::int64_t bound;     ///< rows that there is room for
  std::int32_t* starts;   ///< [experts + 1]
  std::int32_t* kept;     ///< [group][expert]: rows
  std::int32_t* choices;  ///< [token][rank]: expert
  std::int32_t* rows;     ///< [token][rank]: row, or −1 when the expert has no room
  std::int32_t* sources;  ///< [row]: token · choices + rank, or −1
};

/// Sets the rows that stand empty to 0, so that no kernel reads what an earlier step left there.
template <typename S>
void clear_unused(const Routing& routing, std::int64_t width, S* rows, WorkerPool& pool);

/// What a router notes of one group and expert (expert_shape.h).
struct RouterStatistics {
  RouterStatistics(const OpShape& s, double* data) : experts(s.experts), groups(s.groups), values(data) {}

  [[nodiscard]] double& chosen(std::int64_t group, std::int64_t expert) const { return *at(group, expert); }
  [[nodiscard]] double& weight(std::int64_t group, std::int64_t expert) const { return at(group, expert)[1]; }
  [[nodiscard]] double& load(std::int64_t group, std::int64_t expert) const { return at(group, expert)[2]; }
  [[nodiscard]] double& refused() const { return values[3 * groups * experts]; }

  [[nodiscard]] double* at(std::int64_t group, std::int64_t expert) const { return values + 3 * (group * experts + expert); }

  std::int64_t experts, groups;
  double* values;
};

}  // namespace plimsoll::kernels
