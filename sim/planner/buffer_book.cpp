#include "sim/planner/buffer_book.h"

#include <algorithm>

#include "sim/planner/pack_within.h"

namespace plimsoll {

BufferId BufferBook::add(BufferRequest request) {
  plan_.buffers.push_back({.name = std::move(request.name),
                           .space = request.space,
                           .offset = {},
                           .bytes = request.bytes,
                           .slots = request.slots,
                           .category = request.category,
                           .persistent = request.persistent});
  lives_.push_back({.body = body_});
  return BufferId(plan_.buffers.size() - 1);
}

void BufferBook::align(BufferId buffer, Bytes alignment) {
  Bytes& chosen = lives_[buffer.index].alignment;
  chosen = std::max(chosen, alignment);
  plan_.buffers[buffer.index].bytes = align_up(plan_.buffers[buffer.index].bytes, chosen);
}

bool BufferBook::held(std::uint32_t index) const {
  return plan_.buffers[index].persistent || plan_.buffers[index].slots > 1;
}

Bytes BufferBook::place_held(SpaceId space) {
  Bytes top;
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    Buffer& buffer = plan_.buffers[i];
    if (buffer.space != space || !held(i)) continue;
    buffer.offset = align_up(top, lives_[i].alignment);
    top = buffer.offset + buffer.extent();
  }
  return top;
}

BufferBook::Items BufferBook::items_of(SpaceId space, std::uint32_t body) const {
  Items found;
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].space != space || held(i) || lives_[i].body != body) continue;
    if (lives_[i].first > lives_[i].last) continue;
    found.items.push_back({{lives_[i].first, lives_[i].last + 1}, plan_.buffers[i].bytes, lives_[i].alignment});
    found.buffers.push_back(i);
  }
  return found;
}

/// What is held throughout, and the most that lives at one moment of any body.
std::vector<Bytes> BufferBook::bounds() const {
  const std::size_t spaces = plan_.platform.spaces.size();
  std::uint32_t end = 0;
  for (const Life& life : lives_) end = std::max(end, life.last + 1);
  std::vector<Bytes> held_bytes(spaces), most(spaces);
  for (std::uint32_t body = 0; body <= body_; ++body) {
    std::vector<std::vector<std::int64_t>> changes(spaces);  // of what lives, at every moment
    for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      const Life& life = lives_[i];
      if (body == 0 && held(i)) held_bytes[buffer.space.index] += buffer.extent();
      if (held(i) || life.body != body || life.first > life.last) continue;
      std::vector<std::int64_t>& change = changes[buffer.space.index];
      if (change.empty()) change.resize(end + 1);
      change[life.first] += buffer.bytes.count;
      change[life.last + 1] -= buffer.bytes.count;
    }
    for (std::size_t s = 0; s < spaces; ++s) {
      std::int64_t lives = 0;
      for (const std::int64_t by : changes[s]) most[s] = std::max(most[s], Bytes(lives += by));
    }
  }
  for (std::size_t s = 0; s < spaces; ++s) held_bytes[s] += most[s];
  return held_bytes;
}

Bytes BufferBook::place_items(const Items& items, Bytes base, std::optional<Bytes> within, Bytes enough) {
  if (items.items.empty()) return base;
  Bytes strictest = kBufferAlignment;
  for (const PackItem& item : items.items) strictest = std::max(strictest, item.alignment);
  const Bytes floor = align_up(base, strictest);
  Packing packing = pack_arena(items.items, kBufferAlignment, enough - floor, packings_);
  if (within && floor + packing.height > *within) {
    if (auto tight = pack_within(items.items, kBufferAlignment, *within - floor)) packing = std::move(*tight);
  }
  for (std::size_t i = 0; i < items.buffers.size(); ++i) plan_.buffers[items.buffers[i]].offset = floor + packing.offsets[i];
  return floor + packing.height;
}

std::optional<Bytes> BufferBook::place_apart(SpaceId space, const Items& items, Bytes base) {
  Items activations, others;
  std::uint32_t end = 0;
  for (const PackItem& item : items.items) end = std::max(end, item.life.end);
  for (std::size_t i = 0; i < items.items.size(); ++i) {
    const TensorKind kind = plan_.buffers[items.buffers[i]].category;
    Items& region = kind == TensorKind::kActivation ? activations : others;
    region.items.push_back(items.items[i]);
    region.buffers.push_back(items.buffers[i]);
    if (kind == TensorKind::kScalar) region.items.back().life = {0, end};
  }
  const Bytes usable = plan_.platform.at(space).usable;
  const Bytes bound = load_bound(activations.items, kBufferAlignment) + load_bound(others.items, kBufferAlignment);
  if (activations.items.empty()) return std::nullopt;
  if (base + bound > usable) {
    below(base + bound);
    return std::nullopt;
  }
  const Bytes top = place_items(activations, place_items(others, base));
  const Bytes needed = std::max(top, base + bound);
  if (top > usable) {
    below(needed);
    return std::nullopt;
  }
  at_least(needed);
  return top;
}

/// The CPU updates while the next step's forward pass sends activations off the device: bytes that these shared with what
/// updates read would make that pass wait for the last of them. So would a loss on its way to the host, which goes by the same
/// queue before them: scalars share bytes with nothing either.
Bytes BufferBook::place_body(SpaceId space, std::uint32_t body, Bytes base, bool exactly, bool any) {
  const Items found = items_of(space, body);
  const bool leave_device = plan_.strategy.activations != Tier::kDevice && plan_.platform.at(space).kind == SpaceKind::kHost;
  if (leave_device) {
    if (const auto top = place_apart(space, found, base)) return *top;
  }
  const Bytes usable = plan_.platform.at(space).usable;
  return place_items(found, base, exactly ? std::optional(usable) : std::nullopt, any ? usable : Bytes(0));
}

bool BufferBook::bound_arenas() {
  plan_.arenas.clear();
  bool fits = true;
  const std::vector<Bytes> least = bounds();
  for (std::uint32_t s = 0; s < plan_.platform.spaces.size(); ++s) {
    const Bytes needed = least[s];
    fits = fits && needed <= plan_.platform.spaces[s].usable;
    if (needed.count > 0) plan_.arenas.push_back({SpaceId(s), needed});
  }
  return fits;
}

void BufferBook::describe(std::vector<std::uint64_t>& words) const {
  for (std::size_t i = 0; i < lives_.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    const Life& life = lives_[i];
    const std::uint64_t kind = static_cast<std::uint64_t>(buffer.category) << 1 | (buffer.persistent ? 1u : 0u);
    words.push_back((std::uint64_t{buffer.space.index} << 32) | buffer.slots);
    words.push_back(static_cast<std::uint64_t>(buffer.bytes.count));
    words.push_back((std::uint64_t{life.first} << 32) | life.last);
    words.push_back(static_cast<std::uint64_t>(life.alignment.count));
    words.push_back((std::uint64_t{life.body} << 32) | kind);
  }
}

void BufferBook::place(bool exactly, bool any) {
  plan_.arenas.clear();
  placed_for_ = {};
  for (std::uint32_t s = 0; s < plan_.platform.spaces.size(); ++s) {
    const SpaceId space(s);
    const Bytes base = place_held(space);
    Bytes top = base;
    for (std::uint32_t body = 0; body <= body_; ++body) top = std::max(top, place_body(space, body, base, exactly, any));
    if (top.count > 0) plan_.arenas.push_back({space, top});
  }
}

}  // namespace plimsoll
