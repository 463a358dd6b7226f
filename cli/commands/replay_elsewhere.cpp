#include "cli/commands/replay_elsewhere.h"

#include <fmt/format.h>

#include "formats/machines/gpu_catalogue.h"
#include "sim/replay/work_factors.h"

namespace plimsoll {
namespace {

void multiply_in(const std::vector<double>& factors, ReplayOptions& options) {
  options.work_factors.resize(factors.size(), 1.0);
  for (std::size_t i = 0; i < factors.size(); ++i) options.work_factors[i] *= factors[i];
}

std::string counts(const WorkFactors& factors) {
  std::string text;
  for (const auto& [by, count] : factors.judged) text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", count, by);
  return text;
}

Result<GpuEntry> recorded_gpu(const ElsewhereFlags& flags, const Recording& recording) {
  const std::string name = !flags.recorded_gpu.empty() ? flags.recorded_gpu : recording.devices.empty() ? "" : recording.devices.front().name;
  if (name.empty()) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the trace does not tell on which GPU it was recorded",
                 .where = "--gpu",
                 .remedy = "say it with --recorded-gpu NAME"});
  }
  auto gpu = find_gpu(built_in_gpu_catalogue(), name);
  if (!gpu) gpu.error().remedy += "; or say on which it was recorded with --recorded-gpu NAME";
  return gpu;
}

}  // namespace

Result<std::vector<std::string>> move_elsewhere(const ElsewhereFlags& flags, const Recording& recording, ReplayOptions& options) {
  std::vector<std::string> notes;
  if (!flags.gpu.empty()) {
    const auto from = recorded_gpu(flags, recording);
    if (!from) return fail(from.error());
    const auto to = find_gpu(built_in_gpu_catalogue(), flags.gpu);
    if (!to) return fail(to.error());
    const auto factors = factors_on_gpu(recording, *from, *to);
    if (!factors) return fail(factors.error());
    multiply_in(factors->factors, options);
    notes.push_back(fmt::format("{} in place of {}, extrapolated by nominal rates: {}", to->name, from->name, counts(*factors)));
  }
  if (flags.bandwidth) {
    const auto factors = factors_at_bandwidth(recording, *flags.bandwidth);
    if (!factors) return fail(factors.error());
    multiply_in(factors->factors, options);
    notes.push_back(fmt::format("copies at {:g} GB/s each way: {}", *flags.bandwidth, counts(*factors)));
  }
  return notes;
}

}  // namespace plimsoll
