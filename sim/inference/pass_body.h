#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// Appends the instructions of one pass to a plan without addresses: simulated, not executed. Instructions come in rounds; all
/// of a round wait for all of the round before. Without overlap each waits for the one before it.
class PassBody {
 public:
  PassBody(const Platform& platform, bool overlap);
  /// Gives the plan's platform a second queue of kernels beside "compute".
  void add_stream(const char* name);

  [[nodiscard]] bool has_queue(const char* name) const { return plan_.platform.queue(name).has_value(); }

  /// Each returns the new instruction's id, or that of `after` where there is nothing to do.
  std::uint32_t launch(const char* queue, const Kernel& kernel, const std::vector<std::uint32_t>& after = {});
  std::uint32_t copy(SpaceKind from, SpaceKind to, Bytes bytes, const std::vector<std::uint32_t>& after = {});
  /// A CPU thread moves bytes between pageable and pinned memory.
  std::uint32_t stage(Bytes bytes, const std::vector<std::uint32_t>& after = {});
  /// A CPU thread is busy for so long.
  std::uint32_t work_on_host(Nanoseconds duration, const std::vector<std::uint32_t>& after = {});
  void end_round();

  /// The plan, whose body is named "step".
  Plan finish();

 private:
  std::uint32_t append(Instruction instruction, const std::vector<std::uint32_t>& after);
  std::uint32_t host(HostTask task, Bytes bytes, const std::vector<std::uint32_t>& after);
  [[nodiscard]] QueueId queue(const char* name) const;

  Plan plan_;
  Block block_;
  std::map<Kernel, KernelId> kernels_;
  std::vector<std::uint32_t> round_;
  std::vector<std::uint32_t> barrier_;  ///< the marker that ended the round before
  bool overlap_ = true;
};

}  // namespace plimsoll
