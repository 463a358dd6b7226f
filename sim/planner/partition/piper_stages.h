#pragma once

#include <map>

#include "sim/planner/partition/choose_ways.h"
#include "sim/planner/partition/crossing_tensors.h"
#include "sim/planner/partition/partition.h"

namespace plimsoll {

/// How many replicas of how many devices each.
struct StageShape {
  std::size_t degree = 1, replicas = 1;
  auto operator<=>(const StageShape&) const = default;
};

/// Times of all stages between two sets of layers, in every shape.
class PiperStages {
 public:
  PiperStages(const PartitionTask& task, const Ideals& ideals);

  [[nodiscard]] const std::vector<StageShape>& shapes() const { return shapes_; }

  /// Seconds a sample of the stage, whose replicas and all later stages' make `downstream`; infinite when it does not fit.
  /// Exact up to `enough`: where it is only known to be at least that, no choice of ways is looked for.
  double seconds(std::uint32_t from, std::uint32_t to, std::size_t shape, std::size_t downstream, double enough);

  /// False when a choice of ways was given up before it was proven.
  [[nodiscard]] bool exact() const { return exact_; }

  /// The ways of the stage's layers in topological order.
  [[nodiscard]] std::vector<std::uint32_t> ways(std::uint32_t from, std::uint32_t to, std::size_t shape,
                                                std::size_t downstream) const;

 private:
  /// What is known of one stage's time.
  struct Known {
    double least = -1, most = -1;  ///< equal when exact; negative: not looked at
  };

  [[nodiscard]] std::vector<std::vector<WayCost>> costs(const std::vector<LayerId>& layers, std::uint32_t from, std::uint32_t to,
                                                        const StageShape& shape, std::int64_t in_flight,
                                                        std::vector<std::vector<std::uint32_t>>* numbers) const;
  [[nodiscard]] double way_seconds(LayerId id, const LayerWay& way, std::uint32_t from, std::uint32_t to,
                                   std::size_t replicas) const;
  [[nodiscard]] Bytes room() const;

  const PartitionTask& task_;
  const Ideals& ideals_;
  std::vector<StageShape> shapes_;
  std::vector<std::vector<const LayerEdge*>> edges_;  ///< by layer, those that begin or end there
  std::vector<std::size_t> pair_begin_;               ///< by second set: where its pairs begin
  std::vector<std::vector<Known>> known_;             ///< by pair and shape, then by samples in flight
  bool exact_ = true;
};

}  // namespace plimsoll
