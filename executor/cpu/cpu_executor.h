#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "executor/collectives/transport.h"
#include "executor/executor.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// How to run, never what: nothing here changes a number.
struct CpuOptions {
  std::int64_t threads = 0;       ///< compute workers; 0 takes the platform's cores
  bool canary = true;             ///< fill arenas with a pattern so that touched bytes can be counted
  std::uint64_t jitter_seed = 0;  ///< not 0: random delays before every instruction (for the stress test)
  std::string backend;            ///< written into the trace's source
  DriveOptions drive;             ///< where SSD arenas go
  Transport* transport = nullptr;  ///< to the other ranks of the plan's job; outlives the executor
  std::vector<Nanoseconds>
      waits;  ///< by instruction of the step: kernels sleep so long instead of computing; empty: they compute
};

/// Runs a plan for real on the CPU: one arena a memory space (an SSD's is a file), one thread a queue lane, one pool of
/// compute workers.
/// Instructions start as soon as the law of plans lets them; the executor adds no order and needs none.
class CpuExecutor final : public Executor {
 public:
  /// Verifies the plan, checks that it can run here (kernels, precision, a transport for what it exchanges) and that
  /// the arenas fit free memory and drives, reserves and prefaults them, and rehearses every kernel once. Errors say
  /// what is missing.
  static Result<std::unique_ptr<CpuExecutor>> create(const Plan& plan, const CpuOptions& options);
  ~CpuExecutor() override;
  CpuExecutor(const CpuExecutor&) = delete;
  CpuExecutor& operator=(const CpuExecutor&) = delete;

  void initialize() override;
  [[nodiscard]] std::span<const std::byte> state(TensorKind kind, GroupId group) const override;
  void set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte> place)>& fill) override;
  Result<Trace> run_steps(const RunSegment& segment, const BatchSource& batches) override;
  Result<HeldOut> evaluate(const BatchSource& batches, std::int64_t count) override;

  /// By the body "migrate" of `migration`: the arenas, grown to hold either plan, keep their contents and end as long as
  /// `next`'s. Where a plan cannot run here, the migration does not join the two, or memory or room on a drive is missing,
  /// everything stays as it was.
  Result<Trace> migrate(const Plan& migration, const Plan& next) override;
  [[nodiscard]] const std::string& source() const override;
  [[nodiscard]] std::vector<RunWarning> take_warnings() override;

  /// The highest byte of each arena that lost its canary (its whole size without canaries), of an SSD the highest that was
  /// written.
  [[nodiscard]] std::vector<SpacePeak> touched() const override;

  /// Check mode: error naming the first touched byte that lies in no buffer.
  [[nodiscard]] Result<void> check_touched() const;

 private:
  struct Impl;
  explicit CpuExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
