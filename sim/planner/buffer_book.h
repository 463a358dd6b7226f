#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "sim/planner/pack_arena.h"

namespace plimsoll {

/// Sizes of host memory, [from, to), under which addresses come out the same.
struct RoomRange {
  Bytes from;
  Bytes to = Bytes(std::numeric_limits<std::int64_t>::max());

  [[nodiscard]] bool holds(Bytes room) const { return from <= room && room < to; }
};

/// What a lowering asks for when it needs bytes.
struct BufferRequest {
  std::string name;
  SpaceId space;
  Bytes bytes;
  TensorKind category = TensorKind::kActivation;
  bool persistent = false;
  std::uint32_t slots = 1;
};

/// The buffers of a plan under construction: who needs bytes from which instruction to which, and in the end where they lie.
class BufferBook {
 public:
  /// Unless `named`, buffers have no names: for who lowers many strategies and shows none. What `packings` knows is not packed again.
  explicit BufferBook(Plan& plan, bool named = true, KnownPackings* packings = nullptr)
      : plan_(plan), named_(named), packings_(packings) {}

  /// A buffer's name; where buffers have none it is not put together.
  template <typename... Parts>
  [[nodiscard]] std::string name(fmt::format_string<Parts...> form, Parts&&... parts) const {
    return named_ ? fmt::format(form, std::forward<Parts>(parts)...) : std::string();
  }
  /// Makes room for so many further buffers.
  void reserve(std::size_t buffers) {
    plan_.buffers.reserve(plan_.buffers.size() + buffers);
    lives_.reserve(lives_.size() + buffers);
  }

  /// A new buffer of the body that is being written. Persistent ones and rotating ones (slots > 1) are held throughout.
  BufferId add(BufferRequest request);
  /// The buffer is used by `instruction` of the current body: its bytes are kept from its first touch to its last.
  void touch(BufferId buffer, std::uint32_t instruction) {
    Life& life = lives_[buffer.index];
    life.first = std::min(life.first, instruction);
    life.last = std::max(life.last, instruction);
  }
  /// The buffer starts at a multiple of `alignment` (a power of two) and is as many bytes longer as make its size one.
  void align(BufferId buffer, Bytes alignment);
  /// Starts the next body: its buffers may lie where those of earlier bodies lay, but for those held throughout.
  void next_body() { ++body_; }

  /// Gives every space in use an arena as large as a lower bound of what it will need. Whether all of these are usable.
  bool bound_arenas();
  /// Gives every buffer its offset and every space in use its arena. `exactly`: where the greedy packing comes out higher than
  /// may be used, pack_within is asked too. `any`: what fits need be no lower.
  void place(bool exactly = false, bool any = false);
  /// For which host memories that came out so, where it was neither `exactly` nor `any`.
  [[nodiscard]] const RoomRange& placed_for() const { return placed_for_; }
  /// Adds all that places follow from to `words`.
  void describe(std::vector<std::uint64_t>& words) const;

 private:
  struct Life {
    std::uint32_t body = 0;
    std::uint32_t first = 0xffffffffu;
    std::uint32_t last = 0;
    Bytes alignment = kBufferAlignment;
  };

  /// The buffers of one body in one space, by lifetime.
  struct Items {
    std::vector<PackItem> items;
    std::vector<std::uint32_t> buffers;
  };

  [[nodiscard]] bool held(std::uint32_t index) const;
  [[nodiscard]] Items items_of(SpaceId space, std::uint32_t body) const;
  /// Of each space.
  [[nodiscard]] std::vector<Bytes> bounds() const;
  [[nodiscard]] Bytes place_held(SpaceId space);
  [[nodiscard]] Bytes place_body(SpaceId space, std::uint32_t body, Bytes base, bool exactly, bool any);
  /// Above `base`; pack_within is asked where more than `within` would be needed. What ends at `enough` need be no lower.
  Bytes place_items(const Items& items, Bytes base, std::optional<Bytes> within = std::nullopt, Bytes enough = Bytes(0));
  /// Activations in a region above everything else, scalars each by itself, where the space is large enough; else nothing.
  [[nodiscard]] std::optional<Bytes> place_apart(SpaceId space, const Items& items, Bytes base);
  /// Of the host's memory: only what is at least so large, or is smaller, comes to these addresses.
  void at_least(Bytes room) { placed_for_.from = std::max(placed_for_.from, room); }
  void below(Bytes room) { placed_for_.to = std::min(placed_for_.to, room); }

  Plan& plan_;
  bool named_;
  KnownPackings* packings_;
  std::uint32_t body_ = 0;
  std::vector<Life> lives_;
  RoomRange placed_for_;
};

}  // namespace plimsoll
