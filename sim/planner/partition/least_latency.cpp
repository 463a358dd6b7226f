#include <algorithm>
#include <limits>

#include "sim/planner/partition/crossing_tensors.h"
#include "sim/planner/partition/dnn_partition.h"

namespace plimsoll {
namespace {

constexpr std::size_t kMostLabels = 256;

/// When a set of layers, on a number of devices, has each output that others wait for.
struct Label {
  std::vector<double> ready;  ///< by place among the set's open layers
  double end = 0;             ///< of all its stages
  std::uint32_t from = 0;     ///< the set before its last stage
  std::uint32_t label = 0;    ///< among those of that set with one device less

  [[nodiscard]] bool covers(const Label& other) const {
    if (end > other.end) return false;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (ready[i] > other.ready[i]) return false;
    }
    return true;
  }
};

class LatencySearch {
 public:
  LatencySearch(const PartitionTask& task, const Ideals& ideals)
      : task_(task),
        ideals_(ideals),
        tensors_(ideals),
        devices_(std::min(task.devices(), task.graph.layers.size())),
        labels_(ideals.count() * (devices_ + 1)) {}

  std::optional<Partition> run() {
    at(0, 0).emplace_back();
    for (std::uint32_t to = 1; to < ideals_.count(); ++to) {
      for (const std::uint32_t from : ideals_.below(to)) extend(from, to);
    }
    std::size_t best = 0;
    for (std::size_t d = 1; d <= devices_; ++d) {
      if (!at(ideals_.last(), d).empty() && (best == 0 || least(d).end < least(best).end)) best = d;
    }
    if (best == 0) return std::nullopt;
    return trace(best, static_cast<std::uint32_t>(&least(best) - at(ideals_.last(), best).data()));
  }

 private:
  std::vector<Label>& at(std::size_t ideal, std::size_t devices) { return labels_[ideal * (devices_ + 1) + devices]; }

  const Label& least(std::size_t devices) {
    const auto& labels = at(ideals_.last(), devices);
    return *std::min_element(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.end < b.end; });
  }

  [[nodiscard]] double stage_seconds(std::uint32_t from, std::uint32_t to) const {
    double seconds = static_cast<double>(tensors_.crossing(from, to).count) / task_.levels.back().bandwidth;
    for (const LayerId id : ideals_.between(from, to)) seconds += task_.graph.layers[id.index].forward_seconds;
    return seconds;
  }

  void extend(std::uint32_t from, std::uint32_t to) {
    const Bytes size = ideals_.parameters(to) + ideals_.outputs(to) - ideals_.parameters(from) - ideals_.outputs(from);
    if (task_.memory && size > *task_.memory) return;
    const double seconds = stage_seconds(from, to);
    for (std::size_t d = 0; d < devices_; ++d) {
      for (std::uint32_t k = 0; k < at(from, d).size(); ++k) add(to, d + 1, follow(from, to, d, k, seconds));
    }
  }

  Label follow(std::uint32_t from, std::uint32_t to, std::size_t devices, std::uint32_t number, double seconds) {
    const Label& before = at(from, devices)[number];
    const auto open = tensors_.open(from);
    double begin = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (tensors_.reads(from, to, open[i])) begin = std::max(begin, before.ready[i]);
    }
    Label label{.ready = {}, .end = std::max(before.end, begin + seconds), .from = from, .label = number};
    for (const LayerId id : tensors_.open(to)) {
      const auto place = std::find(open.begin(), open.end(), id);
      label.ready.push_back(place == open.end() ? begin + seconds : before.ready[static_cast<std::size_t>(place - open.begin())]);
    }
    return label;
  }

  void add(std::uint32_t to, std::size_t devices, Label label) {
    auto& labels = at(to, devices);
    if (std::any_of(labels.begin(), labels.end(), [&](const Label& other) { return other.covers(label); })) return;
    std::erase_if(labels, [&](const Label& other) { return label.covers(other); });
    labels.push_back(std::move(label));
    if (labels.size() <= kMostLabels) return;
    exact_ = false;
    labels.erase(std::max_element(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.end < b.end; }));
  }

  Partition trace(std::size_t devices, std::uint32_t number) {
    Partition partition{.method = PartitionMethod::kDnn, .stages = {}};
    partition.exact = exact_;
    for (std::uint32_t to = ideals_.last(); to != 0; --devices) {
      const Label& label = at(to, devices)[number];
      partition.stages.insert(partition.stages.begin(), PartitionStage{.layers = ideals_.between(label.from, to)});
      to = label.from;
      number = label.label;
    }
    return partition;
  }

  const PartitionTask& task_;
  const Ideals& ideals_;
  CrossingTensors tensors_;
  std::size_t devices_;
  std::vector<std::vector<Label>> labels_;  ///< by set and devices
  bool exact_ = true;
};

}  // namespace

std::optional<Partition> least_latency_partition(const PartitionTask& task, const Ideals& ideals) {
  return LatencySearch(task, ideals).run();
}

}  // namespace plimsoll
