#pragma once

#include <compare>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "executor/cuda/device_arenas.h"
#include "executor/cuda/device_executor.h"
#include "executor/cuda/device_run.h"
#include "executor/cuda/device_states.h"
#include "executor/kernels/matrix_product.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll {

/// Scratch that the plan's kernels need on each of the device's streams.
Bytes largest_scratch(const Plan& plan);

/// A verified plan with its bodies laid over arenas, on the device and around it. Stays where it is: its parts refer to each
/// other.
struct LoadedDevicePlan {
  /// Reserves, rehearses, and fills what nothing has written.
  LoadedDevicePlan(const Plan& verified, const std::shared_ptr<Device>& device, const DeviceOptions& options);
  /// The same over arenas in which the plan's state lies already, and stays.
  LoadedDevicePlan(const Plan& verified, std::unique_ptr<DeviceArenas> arenas, Device& device, const DeviceOptions& options);
  LoadedDevicePlan(const LoadedDevicePlan&) = delete;
  LoadedDevicePlan& operator=(const LoadedDevicePlan&) = delete;

  /// Lets `fill` write a state and publishes it where compute reads another copy.
  void set(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte>)>& fill) const;
  void initialize();

  const Plan plan;
  WorkerPool pool;
  MatrixProduct product;
  std::unique_ptr<DeviceArenas> arenas;
  EventPool events;
  DeviceQueues queues;
  const Program step;
  const std::optional<Program> evaluation;
  const DeviceStates states;
  DeviceGraphs graphs;  ///< of the step
  std::string source;

 private:
  enum class State { kNone, kKept };
  LoadedDevicePlan(const Plan& verified, std::unique_ptr<DeviceArenas> arenas, Device& device, const DeviceOptions& options, State state);
  void start_drives(const DeviceOptions& options);
  /// What a library may have another algorithm for: a kernel, on the device or not, with operands of these accesses and
  /// alignments.
  struct Rehearsed {
    std::uint32_t kernel = 0;
    bool on_device = false;
    std::vector<std::pair<Access, std::uint32_t>> operands = {};

    auto operator<=>(const Rehearsed&) const = default;
  };
  void rehearse(State state);
  void rehearse(const Program& program, State state, const std::byte* zeros, std::set<Rehearsed>& rehearsed);
  void rehearse_launch(const Program& program, std::uint32_t id, State state, const std::byte* zeros);
  [[nodiscard]] Rehearsed rehearsal_of(const Program& program, const Instruction& launch) const;
  void capture_graphs();
  void rehearse_sum(const Program& program, const Instruction& exchange);
  /// Of the whole group's state, this rank's part.
  void set_share(const StateBinding& kept, const std::function<void(std::span<std::byte>)>& fill) const;
  /// Of the whole group's state, of elements of `type`, what is kept here and what compute reads.
  void put_whole(const StateBinding& kept, std::span<const std::byte> whole, DType type) const;
  void put_first_weights(const StateBinding& kept, std::span<std::byte> drawn);
};

}  // namespace plimsoll
