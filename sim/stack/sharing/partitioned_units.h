#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/stack/sharing/state_sharing.h"

namespace plimsoll {

/// DeepSpeed's ZeRO-3: parameters, gradients and states in partitions; a block's parameters are gathered before they are
/// needed and let go unless they are needed again within so many elements; small ones stay. Partitions may wait in host memory
/// or on drives (ZeRO-Infinity).
class PartitionedUnits : public StateSharing {
 public:
  PartitionedUnits(Tape& tape, const Recipe& recipe, const StackSetup& setup);

  void end() override;
  void update(const Recipe& recipe, OptimizerLoop loop) override;
  [[nodiscard]] Bytes host() const override;
  [[nodiscard]] Bytes drive() const override;

 private:
  struct Unit {
    std::vector<Parameter*> parameters;  ///< without those that stay
    std::int64_t elements = 0;
    std::int64_t bytes = 0;
    std::int64_t before = 0;             ///< elements of the units before it
    bool gathered = false;
  };

  void add(Parameter& parameter);
  void make_partitions(const Recipe& recipe, const StackSetup& setup);
  void move(const std::string& place);
  void gather(Unit& unit);
  void release(Unit& unit);
  void take(Parameter& parameter);
  void reduce_bucket();
  [[nodiscard]] bool needed_soon(const Unit& unit) const;
  [[nodiscard]] std::int64_t part(std::int64_t elements) const { return (elements + ranks_ - 1) / ranks_; }

  std::int64_t ranks_;
  Home parameter_home_;
  Home state_home_;
  std::int64_t bucket_elements_;
  DType type_ = DType::kFp16;
  std::deque<Unit> units_;  ///< the first is what belongs to no block
  std::map<std::string, std::size_t> unit_at_;
  std::int64_t bytes_ = 0;  ///< of all parameters, gathered
  std::int64_t trained_ = 0;
  Tensor parameter_part_;
  Tensor gradient_part_;
  Tensor bucket_;
  std::int64_t bucket_filled_ = 0;
  std::vector<Parameter*> in_bucket_;
  Bytes states_;                  ///< of a rank: the fp32 copy and the optimizer's
  std::deque<Parameter> groups_;  ///< of the fp32 partition; updated one after the other
  Unit* current_ = nullptr;
};

}  // namespace plimsoll
