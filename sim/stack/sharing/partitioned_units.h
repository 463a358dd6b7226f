#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/stack/sharing/state_sharing.h"

namespace plimsoll {

/// DeepSpeed's ZeRO-3: parameters, gradients and states in partitions. A fetcher goes along the trace of forward and backward, past the end of
/// forward too, and gathers what is not there until so many elements are; what was used is let go unless it was fetched for later or is needed
/// again within so many elements; small parameters stay (partitioned_param_coordinator.py). Partitions may wait in host memory or on drives
/// (ZeRO-Infinity).
class PartitionedUnits : public StateSharing {
 public:
  PartitionedUnits(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void end() override;
  void update(const Recipe& recipe, OptimizerLoop loop) override;
  [[nodiscard]] Bytes host() const override;
  [[nodiscard]] Bytes drive() const override;

 private:
  struct Piece {
    Parameter* parameter = nullptr;
    bool there = false;
    std::size_t wanted_at = 0;  ///< where in the trace it was last fetched for
  };
  struct Unit {
    std::vector<Piece> pieces;  ///< without parameters that stay
    std::int64_t elements = 0;
  };
  /// A place in the trace, and how many of its unit's pieces the fetcher has passed.
  struct Reached {
    std::size_t at = 0;
    std::size_t pieces = 0;
  };

  void add(Parameter& parameter);
  void make_partitions(const Recipe& recipe, const StackSetup& setup);
  void trace_units(bool tied);
  [[nodiscard]] std::size_t unit_at(const std::string& place) const;
  /// Where in the trace its visit is that comes next.
  [[nodiscard]] std::size_t next_visit(std::size_t unit) const;
  void move(const std::string& place);
  void gather(Unit& unit);
  void forget_fetches();
  /// Bytes of what was not there.
  std::int64_t fetch(Piece& piece);
  void fetch_ahead();
  void send(std::int64_t fetched);
  void release(Unit& unit);
  void let_go(Piece& piece);
  void take(Parameter& parameter);
  void reduce_bucket();
  [[nodiscard]] bool needed_soon() const;
  [[nodiscard]] std::int64_t part(std::int64_t elements) const { return (elements + ranks_ - 1) / ranks_; }

  std::int64_t ranks_;
  Home parameter_home_;
  Home state_home_;
  std::int64_t bucket_elements_;
  DType type_ = DType::kFp16;
  std::deque<Unit> units_;  ///< the first is what stands before the blocks, the second what comes behind them
  std::map<std::string, std::size_t> unit_at_;
  std::vector<std::size_t> trace_;  ///< units in the order of a step
  std::size_t here_ = 0;            ///< in the trace
  bool was_backward_ = true;
  Reached ahead_;
  std::int64_t there_ = 0;          ///< elements that are gathered
  std::int64_t bytes_ = 0;  ///< of all parameters, gathered
  std::int64_t trained_ = 0;
  Tensor parameter_part_;
  Tensor gradient_part_;
  Tensor bucket_;
  std::int64_t bucket_filled_ = 0;
  std::vector<Parameter*> in_bucket_;
  Bytes states_;                  ///< of a rank: the fp32 copy and the optimizer's
  std::deque<Parameter> groups_;  ///< of the fp32 partition; updated one after the other
  bool began_ = false;
};

}  // namespace plimsoll
