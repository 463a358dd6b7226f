#pragma once

#include "executor/data/counter_random.h"
#include "executor/kernels/launch.h"

namespace plimsoll::kernels {

/// What a router or an expert's dropout draws numbers for; no two share their numbers.
enum class Draw : std::uint64_t { kNoise = 0x6e6f6973, kSecondExpert = 0x7365636f, kDropout = 0x64726f70 };

/// Key of the numbers drawn for one use in one block, micro-batch and step: a block that is computed again, or a run that
/// goes on from a checkpoint, draws what it drew before.
inline std::uint64_t draw_key(const LaunchContext& context, Draw what) {
  std::uint64_t key = mix64(context.recipe->seed);
  for (const std::int64_t part : {static_cast<std::int64_t>(what), context.step, context.micro_batch, context.block}) {
    key = random_at(key, static_cast<std::uint64_t>(part));
  }
  return key;
}

}  // namespace plimsoll::kernels
