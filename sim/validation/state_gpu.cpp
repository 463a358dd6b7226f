#include "sim/validation/state_row.h"

namespace plimsoll {
namespace {

/// Where a source counts tensors and does not name the GPU, its kind hardly matters; this one is taken.
constexpr std::string_view kAnyGpu = "A100 80GB SXM4";

}  // namespace

GpuEntry state_gpu(RowFacts& facts, const RowLexicon& lexicon) {
  const std::string_view written = facts.row().field("gpu");
  std::string_view name = facts.fact("gpu").empty() ? written : facts.fact("gpu");
  if (name.empty()) {
    facts.leave_open("GPU");
    name = kAnyGpu;
    const std::string_view measure = facts.fact("measure");
    if (measure != "allocated" && measure != "reserved") facts.refuse("GPU not stated", "");
  }
  const auto gpu = find_gpu(lexicon.gpus, name);
  if (!gpu) facts.refuse("unknown GPU", name);
  return gpu ? *gpu : GpuEntry{};
}

}  // namespace plimsoll
