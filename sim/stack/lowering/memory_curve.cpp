#include "sim/stack/lowering/memory_curve.h"

namespace plimsoll {
namespace {

constexpr std::array<const char*, kHoldings> kCategories{"parameters", "gradients", "optimizer", "activations", "workspace", "awaited"};

}  // namespace

void MemoryCurve::note(Nanoseconds time, const HeldMemory& held) {
  if (noted_ && time != time_) {
    write();
    most_ = now_;  // what is still there when time goes on
  }
  if (!noted_ || held.allocated > most_.allocated || time != time_) most_ = held;
  now_ = held;
  time_ = time;
  noted_ = true;
}

void MemoryCurve::write() {
  const auto add = [&](const char* space, const char* category, Bytes bytes, std::optional<Bytes> before) {
    if (!before || *before != bytes) samples_.push_back({.time = time_, .space = space, .category = category, .bytes = bytes});
  };
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    add("gpu0", kCategories[i], most_.blocks[i], last_ ? std::optional(last_->blocks[i]) : std::nullopt);
  }
  add("gpu0 allocator", "requested", most_.requested, last_ ? std::optional(last_->requested) : std::nullopt);
  add("gpu0 allocator", "allocated", most_.allocated, last_ ? std::optional(last_->allocated) : std::nullopt);
  add("gpu0 allocator", "reserved", most_.reserved, last_ ? std::optional(last_->reserved) : std::nullopt);
  last_ = most_;
}

std::vector<MemorySample> MemoryCurve::finish() {
  if (noted_) write();
  noted_ = false;
  return std::move(samples_);
}

}  // namespace plimsoll
