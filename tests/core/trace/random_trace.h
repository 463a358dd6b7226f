#pragma once

#include <algorithm>
#include <cstdint>
#include <random>

#include "core/plan/expand.h"
#include "core/trace/trace.h"

namespace plimsoll {

/// A trace of `steps` steps with times as a clock might have given them: random starts and lengths, no law but that a
/// step counts from the end of the one before and begins no event sooner.
inline Trace random_trace(const FlatBody& body, std::uint32_t steps, std::uint32_t seed) {
  std::mt19937 random(seed);
  Trace trace;
  trace.plan_digest = "plan";
  Nanoseconds reached;
  for (std::uint32_t step = 0; step < steps; ++step) {
    Nanoseconds end = reached;
    for (std::uint32_t id = 0; id < body.size(); ++id) {
      const Nanoseconds start = reached + Nanoseconds(random() % 1000);
      trace.events.push_back(
          {.step = step, .instruction = id, .start = start, .end = start + Nanoseconds(random() % 200)});
      end = std::max(end, trace.events.back().end);
    }
    trace.steps.push_back({.step = step, .start = reached, .end = end});
    reached = end;
  }
  return trace;
}

}  // namespace plimsoll
