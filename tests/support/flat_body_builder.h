#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/expand.h"

namespace plimsoll {

/// Writes small flat bodies by hand: markers on queues with dependencies.
class FlatBodyBuilder {
 public:
  FlatBodyBuilder& add(QueueId queue, const std::vector<Dependency>& dependencies = {}) {
    Instruction instruction;
    instruction.queue = queue;
    instruction.first_dependency = static_cast<std::uint32_t>(body_.list.dependencies.size());
    instruction.dependency_count = static_cast<std::uint32_t>(dependencies.size());
    body_.list.instructions.push_back(instruction);
    body_.list.dependencies.insert(body_.list.dependencies.end(), dependencies.begin(), dependencies.end());
    body_.micro_batches.push_back(0);
    return *this;
  }

  [[nodiscard]] FlatBody build() const { return body_; }

 private:
  FlatBody body_;
};

/// A platform of nothing but queues of these widths.
inline Platform queues_of_width(const std::vector<std::int64_t>& widths) {
  Platform platform;
  for (std::size_t q = 0; q < widths.size(); ++q) {
    Queue queue;
    queue.name = "queue " + std::to_string(q);
    queue.width = widths[q];
    platform.queues.push_back(queue);
  }
  return platform;
}

}  // namespace plimsoll
