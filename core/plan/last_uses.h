#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/byte_ranges.h"
#include "core/plan/happens_before.h"

namespace plimsoll {

/// For each elementary range, who wrote it last and who has read it since: all that a further use of it can conflict
/// with that is not ordered already, when every use before it was. Readers of one lane are ordered, so the newest
/// stands for all.
class LastUses {
 public:
  explicit LastUses(std::size_t elements) : elements_(elements) {}

  /// For a step that shows all of itself.
  static constexpr std::uint32_t kNothingSettled = 0xffffffffu;

  /// Calls `visit(position, lane)` for each earlier instruction that a use of `span` has to come after (some
  /// repeatedly). Passes over the elementary ranges that were written at `settled_from` or later: in a step that repeats
  /// one that was followed, what comes after its first write of some bytes is known.
  template <typename Visit>
  void conflicts(ElementSpan span, Access access, std::uint32_t settled_from, Visit&& visit) const {
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      const Element& element = elements_[i];
      if (settled(element, settled_from)) continue;
      if (writes(access) && element.readers != kNone) {
        for (std::uint32_t r = element.readers; r != kNone; r = readers_[r].next) {
          visit(readers_[r].position, readers_[r].lane);
        }
      } else if (element.writer != kNone) {
        visit(element.writer, element.writer_lane);
      }
    }
  }

  /// Notes a use by the instruction `position` of `lane`, passing over what `conflicts` does. False when the same
  /// instruction already used some of these bytes and one of its two uses writes.
  bool record(ElementSpan span, Access access, std::uint32_t settled_from, std::uint32_t position, std::uint32_t lane) {
    bool alone = true;
    for (std::uint32_t i = span.begin; i < span.end; ++i) {
      if (settled(elements_[i], settled_from)) continue;
      alone = (writes(access) ? write(elements_[i], position, lane) : read(elements_[i], position, lane)) && alone;
    }
    return alone;
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  struct Element {
    std::uint32_t writer = kNone;
    std::uint32_t writer_lane = HappensBefore::kNoLane;
    std::uint32_t readers = kNone;  ///< list in readers_
  };
  struct Reader {
    std::uint32_t position = 0;
    std::uint32_t lane = 0;
    std::uint32_t next = kNone;
  };

  [[nodiscard]] static bool settled(const Element& element, std::uint32_t settled_from) {
    return element.writer >= settled_from && element.writer != kNone;
  }

  bool write(Element& element, std::uint32_t position, std::uint32_t lane) {
    bool alone = element.writer != position;
    while (element.readers != kNone) {
      const std::uint32_t reader = element.readers;
      alone = alone && readers_[reader].position != position;
      element.readers = readers_[reader].next;
      readers_[reader].next = free_;
      free_ = reader;
    }
    element.writer = position;
    element.writer_lane = lane;
    return alone;
  }

  bool read(Element& element, std::uint32_t position, std::uint32_t lane) {
    for (std::uint32_t r = element.readers; r != kNone && lane != HappensBefore::kNoLane; r = readers_[r].next) {
      if (readers_[r].lane != lane) continue;
      readers_[r].position = position;
      return element.writer != position;
    }
    if (free_ == kNone) {
      free_ = static_cast<std::uint32_t>(readers_.size());
      readers_.push_back({});
    }
    const std::uint32_t reader = free_;
    free_ = readers_[reader].next;
    readers_[reader] = {position, lane, element.readers};
    element.readers = reader;
    return element.writer != position;
  }

  std::vector<Element> elements_;
  std::vector<Reader> readers_;
  std::uint32_t free_ = kNone;
};

}  // namespace plimsoll
