#include "profiler/cupti/activity_buffers.h"

#include <cstdlib>
#include <cstring>

namespace plimsoll {
namespace {

constexpr std::size_t kAlignment = 64;
/// One for the thread that goes forward, one for the thread that goes backward, and one for a buffer that fills up.
constexpr std::size_t kReady = 3;

}  // namespace

ActivityBuffers::~ActivityBuffers() {
  for (std::uint8_t* buffer : ready_) std::free(buffer);
}

std::uint8_t* ActivityBuffers::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!ready_.empty()) {
      std::uint8_t* const buffer = ready_.back();
      ready_.pop_back();
      return buffer;
    }
  }
  return static_cast<std::uint8_t*>(std::calloc(kBytes, 1));  // its pages come one by one, as they are written
}

void ActivityBuffers::give_back(std::uint8_t* buffer) {
  std::memset(buffer, 0, kBytes);
  const std::lock_guard lock(mutex_);
  ready_.push_back(buffer);
}

void ActivityBuffers::make_ready() {
  std::size_t there = 0;
  {
    const std::lock_guard lock(mutex_);
    there = ready_.size();
  }
  for (; there < kReady; ++there) {
    auto* const buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBytes));
    if (buffer == nullptr) return;
    give_back(buffer);
  }
}

}  // namespace plimsoll
