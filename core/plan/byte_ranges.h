#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// A run of elementary ranges, half-open.
struct ElementSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// The arenas' bytes cut wherever a use of the body begins or ends: two uses overlap exactly when they share an
/// elementary range. Buffers must have their offsets, and uses must lie inside their buffers.
///
/// It also knows how many steps show every conflict. Ordering does not change when all steps are shifted, so a buffer
/// of V slots that shares bytes with no other slot shows all its conflicts on slot 0, which uses of age a reach in steps
/// a and V + a. So do buffers of as many slots that share bytes slot by slot, which takes equal pitches. Where
/// other slots share bytes, the pattern repeats after the least common multiple L of all slot
/// counts, and two uses of the same bytes with none between them are at most L steps apart: 2·L steps show them all,
/// and every step must be looked at.
class ByteRanges {
 public:
  ByteRanges(const Plan& plan, const FlatBody& body);

  [[nodiscard]] std::uint32_t element_count() const { return element_count_; }
  /// Copies of the body to lay one after another.
  [[nodiscard]] std::uint64_t copies() const { return copies_; }

  /// Whether step `step` shows a conflict of this use (an index into the body's uses) that earlier steps did not.
  [[nodiscard]] bool due(std::size_t use, std::uint32_t step) const {
    const Range& range = ranges_[range_of_use_[use]];
    return mixed_ || step == range.age || step == range.age + range.slots;
  }
  /// The last step that does.
  [[nodiscard]] std::uint32_t last_due(std::size_t use) const {
    const Range& range = ranges_[range_of_use_[use]];
    return mixed_ ? 0xffffffffu : range.age + range.slots;
  }
  /// Whether an earlier step showed all that this one does to these bytes: no two slots share bytes, so what a step does
  /// within itself the one that reached them first showed.
  [[nodiscard]] bool repeats(std::size_t use, std::uint32_t step) const {
    const Range& range = ranges_[range_of_use_[use]];
    return !mixed_ && step >= range.slots;
  }
  [[nodiscard]] ElementSpan elements(std::size_t use, std::uint32_t step) const {
    const Range& range = ranges_[range_of_use_[use]];
    if (!mixed_) return range.in_slot_0;
    return spans_[range.first_span + (step + (range.slots - range.age)) % range.slots];
  }

 private:
  /// A range of a buffer that some use of that age names.
  struct Range {
    std::uint32_t buffer = 0;
    std::uint32_t slots = 1;
    std::uint32_t age = 0;
    Bytes offset;
    Bytes bytes;
    std::uint32_t first_span = 0;  ///< of slot 0; the other slots follow
    ElementSpan in_slot_0;
    Bytes pitch;  ///< of its buffer's slots; 0 of a single one
  };

  void collect(const Plan& plan, const FlatBody& body);
  void cut(const Plan& plan);
  void find_period();

  std::vector<Range> ranges_;
  std::vector<std::uint32_t> range_of_use_;
  std::vector<ElementSpan> spans_;
  std::uint32_t element_count_ = 0;
  std::uint64_t copies_ = 1;
  bool mixed_ = false;
};

}  // namespace plimsoll
