#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/expand.h"
#include "core/plan/plan.h"
#include "sim/memory/caching_allocator.h"
#include "sim/stack/lowering/memory_curve.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/tape/storage_log.h"

namespace plimsoll {

/// Writes a log's events as markers of a plan, one after the other, while an allocator of the stack's rules runs along and says
/// where each buffer lies.
class AllocationWriter {
 public:
  AllocationWriter(Plan& plan, const StackRun& run, CachingAllocatorOptions options);

  /// Appends the marker of the log's next event, unless it is of no bytes.
  void write_next(FlatBody& body);
  [[nodiscard]] std::size_t written() const { return next_; }
  /// What is held now.
  [[nodiscard]] HeldMemory held() const;
  /// One past the highest byte that a buffer was given.
  [[nodiscard]] Bytes highest() const { return highest_; }

 private:
  struct Live {
    CachingAllocator::BlockId block = 0;
    std::uint32_t buffer = 0;
    bool there = false;
  };

  std::uint32_t add_buffer(const StorageEvent& event, Bytes offset);
  void mark(FlatBody& body, const StorageEvent& event, std::vector<Use> uses);
  void count(Holding holding, Bytes block) { held_.blocks[static_cast<std::size_t>(holding)] += block; }
  [[nodiscard]] Use whole(std::uint32_t buffer, Access access) const;

  Plan& plan_;
  const StackRun& run_;
  CachingAllocator allocator_;
  std::vector<Live> live_;
  std::size_t next_ = 0;
  Bytes highest_;
  HeldMemory held_;
};

/// Whether a plan's bodies have markers that allocate: it is of a program that allocates while a step runs.
bool allocates_while_running(const Plan& plan);

/// The births and deaths that the markers of all bodies say, in order; an event's place is its buffer. A buffer that is freed or handed on without being there,
/// or allocated twice, is a defect that names the instruction.
Result<std::shared_ptr<StorageLog>> read_allocations(const Plan& plan);

Holding holding_of(TensorKind kind);
TensorKind kind_of(Holding holding);

/// The block of "block 7" or "encoder 3"; −1 of what belongs to none.
std::int32_t layer_of(const std::string& place);

}  // namespace plimsoll
