#pragma once

#include <optional>
#include <vector>

#include "executor/cpu/program.h"
#include "executor/cuda/device.h"
#include "executor/cuda/event_plan.h"

namespace plimsoll {

/// Neighbours on one queue of the device that may be put on its stream as one, in every step alike: ids of a body, in order.
using Stretch = std::vector<std::uint32_t>;

/// Shorter ones are not worth a graph.
inline constexpr std::size_t kShortestStretch = 4;

/// The longest stretches of the body: kernels whose arguments are the same in all steps, of which only the first waits for
/// anybody and only the last is waited for.
std::vector<Stretch> find_stretches(const Plan& plan, const Program& program, const EventPlan& events);

/// The graphs of a program's stretches, once they are captured.
class DeviceGraphs {
 public:
  struct Place {
    DeviceGraphId graph;
    bool is_last = false;  ///< whose turn is the graph's
  };

  DeviceGraphs() = default;
  explicit DeviceGraphs(std::size_t instructions) : places_(instructions) {}

  void add(const Stretch& stretch, DeviceGraphId graph) {
    for (const std::uint32_t id : stretch) places_[id] = Place{graph, id == stretch.back()};
  }
  /// Nothing where the instruction is in no graph.
  [[nodiscard]] std::optional<Place> find(std::uint32_t id) const { return id < places_.size() ? places_[id] : std::nullopt; }

 private:
  std::vector<std::optional<Place>> places_;
};

}  // namespace plimsoll
