#include "sim/planner/buffer_book.h"

#include <algorithm>

#include "sim/planner/pack_arena.h"

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

void BufferBook::touch(BufferId buffer, std::uint32_t instruction) {
  Life& life = lives_[buffer.index];
  life.first = std::min(life.first, instruction);
  life.last = std::max(life.last, instruction);
}

bool BufferBook::held(std::uint32_t index) const {
  return plan_.buffers[index].persistent || plan_.buffers[index].slots > 1;
}

Bytes BufferBook::place_held(SpaceId space) {
  Bytes top;
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    Buffer& buffer = plan_.buffers[i];
    if (buffer.space != space || !held(i)) continue;
    buffer.offset = align_up(top, kBufferAlignment);
    top = buffer.offset + buffer.extent();
  }
  return top;
}

Bytes BufferBook::place_body(SpaceId space, std::uint32_t body, Bytes base) {
  std::vector<PackItem> items;
  std::vector<std::uint32_t> owners;
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].space != space || held(i) || lives_[i].body != body) continue;
    if (lives_[i].first > lives_[i].last) continue;
    items.push_back({{lives_[i].first, lives_[i].last + 1}, plan_.buffers[i].bytes});
    owners.push_back(i);
  }
  if (items.empty()) return base;
  const Packing packing = pack_arena(items, kBufferAlignment);
  const Bytes floor = align_up(base, kBufferAlignment);
  for (std::size_t i = 0; i < owners.size(); ++i) plan_.buffers[owners[i]].offset = floor + packing.offsets[i];
  return floor + packing.height;
}

void BufferBook::place() {
  plan_.arenas.clear();
  for (std::uint32_t s = 0; s < plan_.platform.spaces.size(); ++s) {
    const SpaceId space(s);
    const Bytes base = place_held(space);
    Bytes top = base;
    for (std::uint32_t body = 0; body <= body_; ++body) top = std::max(top, place_body(space, body, base));
    if (top.count > 0) plan_.arenas.push_back({space, top});
  }
}

}  // namespace plimsoll
