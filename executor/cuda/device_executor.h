#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "executor/cuda/device_links.h"
#include "executor/executor.h"
#include "executor/tiers/drive.h"

namespace plimsoll {

/// How to run, never what: nothing here changes a number.
struct DeviceOptions {
  std::int64_t threads = 0;       ///< of the host's kernels; 0 takes the platform's cores
  bool graphs = true;             ///< stretches of kernels are put on the device as one
  bool canary = true;             ///< what nothing has written reads as NaN
  std::uint64_t jitter_seed = 0;  ///< not 0: random delays before every instruction is given (for the stress test)
  std::string backend;            ///< written into the trace's source
  DriveOptions drive;             ///< where SSD arenas go
  Transport* transport = nullptr; ///< to the job's other ranks, of a plan of several; hears that this one gets on
  DeviceLinks* links = nullptr;   ///< to their devices, and which of them each of the plan's queues uses
  std::vector<std::optional<std::uint32_t>> link_of_queue = {};
};

/// Runs a plan on a device and its host: a stream for each of the device's queues, one reservation of its memory, host memory
/// pinned at its exact size; the host's kernels, drives and reports on threads of their own.
class DeviceExecutor final : public Executor {
 public:
  /// Verifies the plan, checks that it can run there and that its arenas fit what is free of the device's memory, the host's and
  /// the drives', reserves them, and rehearses every kernel once, so that nothing is loaded or taken while steps run. Errors say
  /// what is missing.
  static Result<std::unique_ptr<DeviceExecutor>> create(const Plan& plan, std::shared_ptr<Device> device,
                                                        const DeviceOptions& options);
  ~DeviceExecutor() override;
  DeviceExecutor(const DeviceExecutor&) = delete;
  DeviceExecutor& operator=(const DeviceExecutor&) = delete;

  void initialize() override;
  [[nodiscard]] std::span<const std::byte> state(TensorKind kind, GroupId group) const override;
  void set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte> place)>& fill) override;
  Result<Trace> run_steps(const RunSegment& segment, const BatchSource& batches) override;
  Result<HeldOut> evaluate(const BatchSource& batches, std::int64_t count) override;

  Result<Trace> migrate(const Plan& migration, const Plan& next) override;
  [[nodiscard]] const std::string& source() const override;
  [[nodiscard]] std::vector<RunWarning> take_warnings() override;
  [[nodiscard]] std::vector<SpacePeak> touched() const override;

  /// What is reserved on the device beside the plan's arena.
  [[nodiscard]] Bytes reserved_beside() const;

 private:
  struct Impl;
  explicit DeviceExecutor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
