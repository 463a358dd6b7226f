#include "core/trace/operator_trace.h"

#include <algorithm>
#include <map>

namespace plimsoll {

bool OperatorTrace::timed() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const TracedOperator& node) { return node.duration.count >= 0; });
}

std::vector<StoragePeak> storage_peaks(const OperatorTrace& trace) {
  std::map<std::string, StoragePeak> devices;
  std::map<std::string, std::map<std::uint32_t, std::int64_t>> changes;  // by node
  for (const TracedStorage& storage : trace.storages) {
    StoragePeak& peak = devices.try_emplace(storage.device, StoragePeak{.device = storage.device}).first->second;
    ++peak.storages;
    if (!storage.made) {
      peak.there_before += storage.bytes;
      continue;
    }
    changes[storage.device][storage.first] += storage.bytes;
    changes[storage.device][storage.last + 1] -= storage.bytes;
  }
  std::vector<StoragePeak> peaks;
  for (auto& [device, peak] : devices) {
    std::int64_t now = peak.peak = peak.there_before;
    for (const auto& [node, change] : changes[device]) {
      now += change;
      if (now <= peak.peak) continue;
      peak.peak = now;
      peak.at = node;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

std::string_view to_text(OperatorSort sort) {
  switch (sort) {
    case OperatorSort::kOther: return "other";
    case OperatorSort::kCompute: return "compute";
    case OperatorSort::kLoad: return "load";
    case OperatorSort::kStore: return "store";
    case OperatorSort::kSend: return "send";
    case OperatorSort::kReceive: return "receive";
    case OperatorSort::kCollective: return "collective";
  }
  return "?";
}

}  // namespace plimsoll
