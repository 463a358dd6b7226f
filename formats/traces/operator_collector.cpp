#include "formats/traces/operator_collector.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace plimsoll {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

std::int64_t bytes_of(const NamedTensor& tensor) {
  const bool sane = tensor.offset >= 0 && tensor.elements >= 0 && tensor.element_bytes > 0 && tensor.element_bytes <= 64 &&
                    tensor.offset < kMostBytes / 128 && tensor.elements < kMostBytes / 128;
  return sane ? (tensor.offset + tensor.elements) * tensor.element_bytes : 0;
}

}  // namespace

OperatorTrace OperatorCollector::finish(std::string source) {
  OperatorTrace trace;
  trace.source = std::move(source);
  std::stable_sort(nodes_.begin(), nodes_.end(), [](const CollectedNode& a, const CollectedNode& b) { return a.id < b.id; });
  for (const CollectedNode& node : nodes_) {
    constexpr double kLongest = 1e15;
    const bool timed = node.duration_microseconds >= 0 && node.duration_microseconds < kLongest;
    trace.nodes.push_back({.id = node.id,
                           .name = trace.names.add(node.name),
                           .sort = node.sort,
                           .on_host = node.on_host,
                           .lane = node.lane,
                           .bytes = node.bytes,
                           .duration = Nanoseconds(timed ? static_cast<std::int64_t>(node.duration_microseconds * 1e3 + 0.5) : -1)});
  }
  link(trace);
  name_storages(trace);
  return trace;
}

void OperatorCollector::link(OperatorTrace& trace) {
  std::unordered_map<std::uint64_t, std::uint32_t> index;
  std::uint64_t twice = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    twice += !index.emplace(nodes_[i].id, i).second;
  }
  if (twice > 0) trace.losses.push_back({.what = "ids of nodes that another node has", .count = twice});
  std::uint64_t missing = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    for (const std::uint64_t id : nodes_[i].after) {
      const auto found = index.find(id);
      if (found == index.end() || found->second == i) ++missing;
      else trace.nodes[i].after.push_back(found->second);
    }
    const auto parent = index.find(nodes_[i].parent);
    if (parent != index.end()) trace.nodes[parent->second].has_children = true;
  }
  if (missing > 0) trace.losses.push_back({.what = "dependencies on nodes that are not in the file", .count = missing});
}

void OperatorCollector::name_storages(OperatorTrace& trace) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  const auto name = [&](const NamedTensor& tensor, std::uint32_t node, bool made) {
    if (tensor.device.empty()) return;  // of no tensor
    const auto [entry, is_new] = known.try_emplace(tensor.storage, static_cast<std::uint32_t>(trace.storages.size()));
    if (is_new) trace.storages.push_back({.id = tensor.storage, .device = tensor.device, .first = node, .made = made});
    TracedStorage& storage = trace.storages[entry->second];
    storage.bytes = std::max(storage.bytes, bytes_of(tensor));
    storage.last = node;
  };
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    for (const NamedTensor& tensor : nodes_[i].inputs) name(tensor, i, false);
    for (const NamedTensor& tensor : nodes_[i].outputs) name(tensor, i, true);
  }
}

std::vector<NamedTensor> tensors_in(std::string_view text) {
  std::vector<NamedTensor> tensors;
  std::array<std::int64_t, 5> numbers{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\'' || c == '"') {
      const std::size_t end = std::min(text.find(c, i + 1), text.size());
      if (count == numbers.size()) {
        tensors.push_back({static_cast<std::uint64_t>(numbers[1]), numbers[2], numbers[3], numbers[4], std::string(text.substr(i + 1, end - i - 1))});
      }
      count = numbers.size() + 1;
      i = end + 1;
    } else if ((c >= '0' && c <= '9') || c == '-') {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
      if (error == std::errc() && count < numbers.size()) numbers[count] = value;
      ++count;
      i = std::max(i + 1, static_cast<std::size_t>(end - text.data()));
    } else {
      if (c == '[' || c == '(' || c == ']') count = 0;
      ++i;
    }
  }
  return tensors;
}

}  // namespace plimsoll
