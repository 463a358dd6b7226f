#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/strong_id.h"
#include "core/graph/graph.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "core/plan/exchange.h"
#include "core/plan/strategy.h"
#include "core/platform/platform.h"

namespace plimsoll {

using BufferId = StrongId<struct BufferTag>;
using KernelId = StrongId<struct KernelTag>;
using BlockId = StrongId<struct BlockTag>;

/// Every buffer starts at a multiple of this.
inline constexpr Bytes kBufferAlignment{256};

/// Drives read and write whole blocks of this size: what the planner moves to and from them starts and ends at a multiple.
inline constexpr Bytes kStorageAlignment{4096};

/// Bytes at a fixed place of one space's arena. With `slots` > 1 step s uses slot s mod slots (of older slots see Use);
/// slots lie one after another. Persistent slots are versions: only the step turns them, and any other body stands for
/// the step that comes next, so that age 1 is the newest version.
struct Buffer {
  std::string name;
  SpaceId space;
  Bytes offset;
  Bytes bytes;
  std::uint32_t slots = 1;
  TensorKind category = TensorKind::kActivation;
  bool persistent = false;  ///< keeps its contents from step to step

  /// Distance of two slots.
  [[nodiscard]] Bytes pitch() const { return align_up(bytes, kBufferAlignment); }
  /// Bytes that the arena spends on all slots.
  [[nodiscard]] Bytes extent() const { return Bytes(pitch().count * (slots - 1) + bytes.count); }
  /// The slot that a use of that age (below `slots`) finds in step `step`.
  [[nodiscard]] std::uint32_t slot_in(std::uint64_t step, std::uint32_t age = 0) const {
    return static_cast<std::uint32_t>((step + (slots - age)) % slots);
  }
  /// Where it finds that slot in the arena.
  [[nodiscard]] Bytes offset_in(std::uint64_t step, std::uint32_t age = 0) const {
    return Bytes(offset.count + static_cast<std::int64_t>(slot_in(step, age)) * pitch().count);
  }
};

/// The pool that a space's buffers lie in, reserved once before the first step.
struct Arena {
  SpaceId space;
  Bytes bytes;
};

/// A kernel with its sizes; two instructions with the same kernel cost the same.
struct Kernel {
  OpKind kind = OpKind::kAdd;
  DType dtype = DType::kFp32;
  OpShape shape;

  auto operator<=>(const Kernel&) const = default;
};

enum class InstructionKind : std::uint8_t {
  kLaunch,      ///< a kernel; uses are its operands in the kernel's order
  kCopy,        ///< uses: source r, destination w, of equal size
  kRead,        ///< SSD to host, or to a device that it reaches; uses as a copy
  kWrite,       ///< from there to SSD; uses as a copy
  kCollective,  ///< occupies all members' queues; with an `exchange`, what ranks do to each other's bytes
  kHostWork,    ///< see HostTask
  kMarker,      ///< takes no time; a place to depend on
};

/// What a kHostWork instruction does on the CPU between steps' kernels.
enum class HostTask : std::uint8_t {
  kNone,
  kLoadTokens,  ///< writes the step's token ids of one micro-batch
  kReportLoss,  ///< reads the losses and, when clipping, the gradient norm
};

/// Use of a range of a buffer. In a Block `target` is a binding slot of the Call; expanded, it is the buffer's index.
struct Use {
  std::uint32_t target = 0;
  Access access = Access::kRead;
  Bytes offset;
  Bytes bytes;
  std::uint32_t age = 0;  ///< 0: this step's slot; 1: the slot of the step before; below the buffer's slots

  bool operator==(const Use&) const = default;
};

/// An instruction that must have ended, `distance` steps earlier. In a Block a `local` target is an index into the block
/// and any other is a port of the Call; expanded, it is the id within the body and `local` is true.
struct Dependency {
  std::uint32_t target = 0;
  std::uint32_t distance = 0;
  bool local = true;

  bool operator==(const Dependency&) const = default;
};

inline constexpr std::uint32_t kNoGuard = 0xffffffffu;

/// One instruction with ranges into the flat arrays of its Block or FlatBody.
struct Instruction {
  InstructionKind kind = InstructionKind::kMarker;
  Phase phase = Phase::kForward;
  HostTask task = HostTask::kNone;
  QueueId queue;
  KernelId kernel;                         ///< of a launch
  std::int32_t layer = -1;                 ///< transformer block, for people and random numbers; relative within a repeated Call
  std::uint32_t first_use = 0;
  std::uint32_t use_count = 0;
  std::uint32_t first_dependency = 0;
  std::uint32_t dependency_count = 0;
  std::uint32_t first_member = 0;          ///< further queues that a collective occupies
  std::uint32_t member_count = 0;
  std::uint32_t guard = kNoGuard;          ///< which of its uses is the flag that must be non-zero to run
  ExchangeId exchange;                     ///< of a collective that runs

  bool operator==(const Instruction&) const = default;
};

/// Instructions with their uses, dependencies and members in flat arrays.
struct InstructionList {
  std::vector<Instruction> instructions;
  std::vector<Use> uses;
  std::vector<Dependency> dependencies;
  std::vector<QueueId> members;

  bool operator==(const InstructionList&) const = default;
};

/// A template: uses refer to binding slots, outside dependencies to ports.
struct Block {
  std::string name;
  InstructionList list;
  std::uint32_t slot_count = 0;
  std::uint32_t port_count = 0;
};

/// What a slot of the block means in a call: buffer `base + stride · repetition`.
struct Binding {
  BufferId base;
  std::int32_t stride = 0;

  bool operator==(const Binding&) const = default;
};

/// What a port means: instruction `base + stride · repetition` of the body, `distance` steps earlier.
struct Port {
  std::uint32_t base = 0;
  std::int32_t stride = 0;

  bool operator==(const Port&) const = default;
};

/// A block bound to buffers and repeated. Instruction ids of a body are the prefix sums over its calls.
struct Call {
  BlockId block;
  std::uint32_t repeat = 1;
  std::uint32_t micro_batch = 0;
  std::int32_t layer = -1;         ///< added to the instructions' layer (first repetition)
  std::int32_t layer_stride = 0;
  std::vector<Binding> bindings;
  std::vector<Port> ports;
};

/// The only body of a plan that carries state from one plan's layout to another's.
inline constexpr const char* kMigrateBody = "migrate";

/// A sequence of calls that runs as one unit: the training step, an evaluation, a migration.
struct Body {
  std::string name;  ///< "step", "evaluation" or "migrate"
  std::vector<Call> calls;
};

/// Which buffer holds which state of which parameter group. An interpreter fills all of them before the first step.
struct StateBinding {
  TensorKind kind = TensorKind::kParameter;  ///< kParameter, kMaster, a moment, or kScalar: the run's LossScale
  GroupId group;
  BufferId buffer;
  std::uint32_t part = 0;   ///< of `parts` (part_of), which different ranks keep; the buffer has room for the longest
  std::uint32_t parts = 1;
};

/// A fully decided program: the same instructions for the simulator and for every executor.
struct Plan {
  static constexpr int kFormatVersion = 1;

  ModelSpec spec;
  Recipe recipe;
  Platform platform;
  Strategy strategy;
  std::uint32_t rank = 0;   ///< of the job's `ranks`, each of which runs a plan of its own
  std::uint32_t ranks = 1;
  std::vector<Kernel> kernels;
  std::vector<Exchange> exchanges;
  std::vector<Buffer> buffers;
  std::vector<Arena> arenas;
  std::vector<StateBinding> state;
  std::vector<Block> blocks;
  std::vector<Body> bodies;  ///< a run is a word over them; the arena's persistent part carries from one to the next

  [[nodiscard]] const Buffer& at(BufferId id) const { return buffers[id.index]; }
  [[nodiscard]] const Kernel& at(KernelId id) const { return kernels[id.index]; }
  [[nodiscard]] const Block& at(BlockId id) const { return blocks[id.index]; }
  [[nodiscard]] const Exchange& at(ExchangeId id) const { return exchanges[id.index]; }
  [[nodiscard]] const Body* body(std::string_view name) const;
  /// Reserved bytes of a space; 0 when it has no arena.
  [[nodiscard]] Bytes arena_bytes(SpaceId space) const;
};

std::string_view to_text(InstructionKind kind);
std::string_view to_text(HostTask task);

}  // namespace plimsoll
