#include "executor/kernels/thread_scratch.h"

#include <algorithm>
#include <memory>

#include "core/graph/op_work.h"

namespace plimsoll {
namespace {

struct Scratch {
  std::unique_ptr<float[]> memory;
  std::int64_t elements = 0;
};

}  // namespace

float* thread_scratch(std::int64_t elements) {
  thread_local Scratch scratch;
  if (scratch.elements < elements) {
    scratch.elements = std::max(elements, kHalfScratch);
    scratch.memory = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(scratch.elements));
  }
  return scratch.memory.get();
}

}  // namespace plimsoll
