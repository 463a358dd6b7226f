#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll::test {

/// A use as a test writes it: a whole buffer, or a part of one.
struct BufferUse {
  BufferId buffer;
  Access access = Access::kRead;
  Bytes offset;
  Bytes bytes{-1};  ///< negative: to the buffer's end
  std::uint32_t age = 0;
};

/// Writes a plan on the tiny platform by hand, one instruction after another.
class PlanWriter {
 public:
  PlanWriter();

  /// A buffer at a given offset; the arena of its space grows to hold it.
  BufferId buffer(std::string name, std::string_view space, Bytes offset, Bytes bytes, std::uint32_t slots = 1,
                  bool persistent = false);

  /// Each appends an instruction and returns its id. Kernels get made-up sizes: two launches of a kind share a kernel.
  std::uint32_t launch(std::string_view queue, OpKind kind, Phase phase, const std::vector<BufferUse>& uses,
                       std::vector<Dependency> dependencies = {}, std::uint32_t guard = kNoGuard);
  std::uint32_t copy(InstructionKind kind, std::string_view queue, BufferUse from, BufferUse to,
                     std::vector<Dependency> dependencies = {});
  std::uint32_t host_work(HostTask task, const std::vector<BufferUse>& uses, std::vector<Dependency> dependencies = {});
  std::uint32_t marker(std::string_view queue, std::vector<Dependency> dependencies = {});
  /// Appends anything; its ranges into the flat arrays are set here.
  std::uint32_t append(Instruction instruction, const std::vector<BufferUse>& uses,
                       const std::vector<Dependency>& dependencies, const std::vector<QueueId>& members = {});

  [[nodiscard]] Plan& plan() { return plan_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] FlatBody& body() { return body_; }
  [[nodiscard]] const FlatBody& body() const { return body_; }

  /// The plan with what was written as its body "step", in segments of `stretch` instructions (0: all in one).
  [[nodiscard]] Plan finish(std::uint32_t stretch = 0) const;

 private:
  KernelId kernel(OpKind kind);

  Plan plan_;
  FlatBody body_;
};

/// "after instruction `id`", `distance` steps earlier.
inline Dependency after(std::uint32_t id, std::uint32_t distance = 0) { return {id, distance, true}; }

/// The same use of the slot of the step before.
inline BufferUse before(BufferUse use) {
  use.age = 1;
  return use;
}

inline BufferUse read(BufferId buffer) { return {buffer, Access::kRead, Bytes(0), Bytes(-1)}; }
inline BufferUse write(BufferId buffer) { return {buffer, Access::kWrite, Bytes(0), Bytes(-1)}; }
inline BufferUse update(BufferId buffer) { return {buffer, Access::kReadWrite, Bytes(0), Bytes(-1)}; }

}  // namespace plimsoll::test
