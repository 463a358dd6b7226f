#include "formats/runs/process_samples.h"

#include <array>
#include <string_view>
#include <utility>

namespace plimsoll {
namespace {

constexpr const char* kSpace = "process";

using Field = std::pair<std::string_view, Bytes ComparedProcess::*>;
constexpr std::array<Field, 5> kFields{{{"measured", &ComparedProcess::measured},
                                        {"measured events", &ComparedProcess::measured_events},
                                        {"arenas", &ComparedProcess::arenas},
                                        {"predicted events", &ComparedProcess::events},
                                        {"predicted program", &ComparedProcess::program}}};

}  // namespace

std::vector<MemorySample> process_samples(const ComparedProcess& process, Nanoseconds at) {
  std::vector<MemorySample> samples;
  for (const auto& [category, field] : kFields) samples.push_back({at, kSpace, std::string(category), process.*field});
  return samples;
}

std::optional<ComparedProcess> process_in(const std::vector<MemorySample>& samples) {
  ComparedProcess process;
  std::size_t found = 0;
  for (const MemorySample& sample : samples) {
    if (sample.space != kSpace) continue;
    for (const auto& [category, field] : kFields) {
      if (sample.category != category) continue;
      process.*field = sample.bytes;
      ++found;
    }
  }
  return found < kFields.size() ? std::nullopt : std::optional(process);
}

}  // namespace plimsoll
