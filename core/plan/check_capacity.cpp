#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/plan/plan_checks.h"

namespace plimsoll {
namespace {

Error defect(std::string where, std::string what, std::string remedy = {}) {
  return {.kind = ErrorKind::kDefect, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)};
}

Result<void> check_arenas(const Plan& plan) {
  for (const Arena& arena : plan.arenas) {
    const MemorySpace& space = plan.platform.at(arena.space);
    if (arena.bytes.count >= 0 && arena.bytes <= space.usable) continue;
    return fail(defect(
        "arena of " + space.name, fmt::format("needs {}, {} is usable", to_text(arena.bytes), to_text(space.usable)),
        fmt::format("free {} or choose a strategy that keeps less there", to_text(arena.bytes - space.usable))));
  }
  return {};
}

/// Whether all slots of a buffer lie in `room` bytes. Sizes come from files: nothing may overflow.
bool fits(const Buffer& buffer, Bytes room) {
  if (buffer.offset.count < 0 || buffer.bytes > room || buffer.offset > room - buffer.bytes) return false;
  const std::int64_t left = (room - buffer.offset - buffer.bytes).count;
  return buffer.slots == 1 || buffer.pitch().count <= left / (buffer.slots - 1);
}

Result<void> check_buffers(const Plan& plan) {
  for (const Buffer& buffer : plan.buffers) {
    const std::string where = "buffer " + buffer.name;
    if (buffer.offset.count % kBufferAlignment.count != 0) {
      return fail(defect(
          where, fmt::format("lies at {}, which is no multiple of {}", buffer.offset.count, kBufferAlignment.count)));
    }
    if (fits(buffer, plan.arena_bytes(buffer.space))) continue;
    return fail(defect(where, fmt::format("{} slots of {} bytes at {} do not lie in the arena of {} ({} bytes)",
                                          buffer.slots, buffer.bytes.count, buffer.offset.count,
                                          plan.platform.at(buffer.space).name, plan.arena_bytes(buffer.space).count)));
  }
  return {};
}

std::string range_of(const Buffer& buffer) {
  return fmt::format("{} [{}, {})", buffer.name, buffer.offset.count, (buffer.offset + buffer.extent()).count);
}

/// Sweeps the buffers by address. Of those before, only the one that ends last can reach into the next.
Result<void> check_persistent(const Plan& plan) {
  std::vector<const Buffer*> by_address;
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.bytes.count > 0) by_address.push_back(&buffer);
  }
  std::stable_sort(by_address.begin(), by_address.end(), [](const Buffer* a, const Buffer* b) {
    return std::tuple(a->space, a->offset) < std::tuple(b->space, b->offset);
  });
  const auto reaches = [](const Buffer* before, const Buffer* buffer) {
    return before != nullptr && before->space == buffer->space && buffer->offset < before->offset + before->extent();
  };
  const auto ends_later = [&](const Buffer* before, const Buffer* buffer) {
    return before == nullptr || before->space != buffer->space ||
           before->offset + before->extent() < buffer->offset + buffer->extent();
  };
  const Buffer* last = nullptr;
  const Buffer* last_persistent = nullptr;
  for (const Buffer* buffer : by_address) {
    const Buffer* other = buffer->persistent ? last : last_persistent;
    if (reaches(other, buffer)) {
      return fail(
          defect("arena of " + plan.platform.at(buffer->space).name,
                 fmt::format("{} and {} share bytes, and {} keeps its contents from step to step", range_of(*other),
                             range_of(*buffer), buffer->persistent ? buffer->name : other->name)));
    }
    if (ends_later(last, buffer)) last = buffer;
    if (buffer->persistent && ends_later(last_persistent, buffer)) last_persistent = buffer;
  }
  return {};
}

}  // namespace

Result<void> check_capacity(const Plan& plan) {
  if (auto ok = check_arenas(plan); !ok) return ok;
  if (auto ok = check_buffers(plan); !ok) return ok;
  return check_persistent(plan);
}

}  // namespace plimsoll
