#include "sim/planner/unplaced_digest.h"

#include <bit>
#include <span>
#include <vector>

#include "core/base/running_digest.h"

namespace plimsoll {
namespace {

using Words = std::vector<std::uint64_t>;

template <typename... Values>
void add(Words& words, Values... values) {
  (words.push_back(static_cast<std::uint64_t>(values)), ...);
}

/// Named one by one, so that a shape with one more does not compile.
void add_kernel(Words& words, const Kernel& kernel) {
  const auto& [kind, dtype, shape] = kernel;
  const auto& [rows, inputs, outputs, sequence, heads, kv_heads, head_dim, positions, stride, terms, experts, choices, capacity,
               groups, variant, constant] = shape;
  add(words, kind, dtype, rows, inputs, outputs, sequence, heads, kv_heads, head_dim, positions, stride, terms, experts, choices,
      capacity, groups, variant);
  add(words, std::bit_cast<std::uint64_t>(constant));
}

/// Of two numbers below 2^32.
std::uint64_t both(std::uint32_t high, std::uint32_t low) { return (std::uint64_t{high} << 32) | low; }

void add_body(Words& words, const FlatBody& body) {
  for (const Instruction& one : body.list.instructions) {
    add(words, both(static_cast<std::uint32_t>(one.kind) << 16 | static_cast<std::uint32_t>(one.task), one.queue.index),
        both(one.kernel.index, one.guard), both(one.exchange.index, one.use_count), both(one.dependency_count, one.member_count));
  }
  for (const Use& use : body.list.uses) {
    add(words, both(use.target, static_cast<std::uint32_t>(use.access) << 16 | use.age), use.offset.count, use.bytes.count);
  }
  for (const Dependency& one : body.list.dependencies) add(words, both(one.target, one.distance), one.local);
  for (const QueueId member : body.list.members) add(words, member.index);
}

}  // namespace

std::uint64_t unplaced_digest(const Plan& plan, const FlatBody& step, const BufferBook& book) {
  Words words;
  words.reserve(4 * step.size() + 3 * step.list.uses.size() + 8 * plan.buffers.size());
  const Strategy& strategy = plan.strategy;
  add(words, strategy.overlap, strategy.activations == Tier::kDevice, strategy.update_in_backward, plan.kernels.size(),
      plan.buffers.size(), step.size());
  for (const Kernel& kernel : plan.kernels) add_kernel(words, kernel);
  book.describe(words);
  add_body(words, step);
  return fingerprint_of(std::as_bytes(std::span(words)));
}

}  // namespace plimsoll
