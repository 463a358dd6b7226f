#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "executor/collectives/state_owners.h"
#include "executor/collectives/transport.h"
#include "executor/executor.h"

namespace plimsoll {

/// All ranks of a job as one executor. Rank 0 calls the verbs of Executor, and each of them tells the other ranks what to do,
/// which `serve` meanwhile; so what trains on one executor (evaluates, saves, goes on from a checkpoint) trains on ranks. A
/// state is whole here: its parts come from, and go to, the ranks that keep them, one group at a time.
class JobExecutor final : public Executor {
 public:
  /// The plans of all ranks, and this rank's executor; keeps references.
  JobExecutor(std::span<const Plan> plans, Executor& own, Transport& transport)
      : owners_(plans), own_(own), transport_(transport), overlap_(overlap_of(plans)) {}

  /// The other ranks: does what rank 0 says until it calls `end`. `evaluation` may be null when there is none. Fails, or throws,
  /// as the own executor does.
  Result<void> serve(const BatchSource& batches, const BatchSource* evaluation);
  /// Rank 0: the other ranks' `serve` returns.
  void end();

  void initialize() override;
  [[nodiscard]] std::span<const std::byte> state(TensorKind kind, GroupId group) const override;
  void set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte> place)>& fill) override;
  /// In stretches of a quarter of a second, after which rank 0 looks whether it shall stop. Where steps overlap as the plan has
  /// it, a stretch goes over into the next one without a pause: rank 0 says in time how long that is.
  Result<Trace> run_steps(const RunSegment& segment, const BatchSource& batches) override;
  Result<HeldOut> evaluate(const BatchSource& batches, std::int64_t count) override;
  /// Refused: ranks keep their plans.
  Result<Trace> migrate(const Plan& migration, const Plan& next) override;
  [[nodiscard]] const std::string& source() const override { return own_.source(); }
  [[nodiscard]] std::vector<RunWarning> take_warnings() override { return own_.take_warnings(); }
  [[nodiscard]] std::vector<SpacePeak> touched() const override { return own_.touched(); }

  /// All that this rank ran, its times as the computer's steady clock has them. During a step's `on_step` that step is the last.
  [[nodiscard]] const Trace& recorded() const { return recorded_; }

 private:
  enum class Verb : std::int64_t { kInitialize, kShowState, kSetState, kRun, kMore, kEvaluate, kEnd };
  /// What rank 0 says; the numbers are the verb's.
  struct Order {
    Verb verb = Verb::kEnd;
    std::int64_t a = 0, b = 0, c = 0, d = 0;
  };

  void tell(std::uint32_t rank, const Order& order) const;
  void tell_all(const Order& order) const;
  Result<void> carry_out(const Order& order, const BatchSource& batches, const BatchSource* evaluation);
  void show_state(TensorKind kind, GroupId group) const;
  /// Of elements of `size` bytes.
  [[nodiscard]] std::vector<std::byte> part_of_state(TensorKind kind, GroupId group, const OwnedPart& part,
                                                     std::size_t size) const;
  void take_state(TensorKind kind, GroupId group, std::int64_t bytes);
  /// Steps that a rank may be ahead of another, and one to say so; 0 where steps do not reach into each other.
  static std::int64_t overlap_of(std::span<const Plan> plans);
  Result<Trace> run_stretch(const RunSegment& segment, const BatchSource& batches);
  [[nodiscard]] std::int64_t told_more() const;
  [[nodiscard]] std::int64_t next_stretch(std::int64_t left) const;

  StateOwners owners_;
  Executor& own_;
  Transport& transport_;
  std::int64_t overlap_;
  Trace recorded_;
  double seconds_per_step_ = 0;  ///< 0: none ran yet
  mutable std::vector<std::byte> whole_;
};

}  // namespace plimsoll
