#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Bounds on what a plan may ask of those who expand it; a file that asks for more is refused before it is expanded.
inline constexpr std::uint32_t kMaxBufferSlots = 1024;
inline constexpr std::uint64_t kMaxBodyInstructions = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kMaxBodyReferences = std::uint64_t{1} << 27;        ///< uses, dependencies and members
inline constexpr std::uint64_t kMaxVerifiedInstructions = std::uint64_t{1} << 26;  ///< of a body's copies together

/// What verification looked at, for people who want to know that it looked.
struct VerifyReport {
  std::uint64_t instructions = 0;  ///< of all bodies, expanded once
  std::uint64_t checked_uses = 0;
  std::uint32_t expanded_bodies = 0;  ///< copies of the step that were laid one after another
};

/// Checks that every index of the plan is in range, so that it can be expanded. For plans that come from files.
Result<void> check_indices(const Plan& plan);

/// Proves the law of plans for `plan`: dependencies are smaller ids (or earlier steps); every pair of overlapping
/// uses of which one writes is ordered by a happens-before path; buffers lie inside arenas and arenas inside usable
/// memory; persistent buffers share bytes with no other; a launch's operands lie in its processor's memory and match
/// its kernel; copies run along a real link between equal sizes, or within the memory of their queue's processor.
/// Bodies are drained between each other and proved one by one. As many copies of a body are laid one after another
/// as show every conflict (see ByteRanges): most slots + 1, or more when different slots share bytes; a dependency on
/// a step further back orders nothing that these do not show. The first defect is returned with the ids, buffers and
/// byte ranges concerned.
Result<VerifyReport> verify_plan(const Plan& plan);

}  // namespace plimsoll
