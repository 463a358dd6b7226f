#include "cli/inputs/cuda_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/print/waiting_line.h"
#include "executor/cuda/device.h"
#include "formats/machines/gpu_catalogue.h"
#include "profiler/probe/this_computer.h"
#include "session/probe/copy_trial.h"

namespace plimsoll {
namespace {

/// Of the backend beside a plan's arena: scratch of the streams, and what the runtime takes when kernels are first used.
constexpr Bytes kBesideArena{std::int64_t{160} << 20};

/// "NVIDIA GeForce RTX 4090" is an RTX 4090 in the catalogue.
std::string board_of(std::string name) {
  for (const std::string_view brand : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(brand)) name.erase(0, brand.size());
  }
  return name;
}

}  // namespace

Result<MachineFlags> with_cuda_device(MachineFlags flags, std::uint32_t number) {
  if (!flags.gpu.empty() && flags.gpu != "this") {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--backend cuda runs on the GPU that is here, so --on does not go with it",
                 .where = {},
                 .remedy = "leave --on out"});
  }
  const auto device = open_cuda_device(number);
  if (!device) return fail(device.error());
  const DeviceInfo info = (*device)->info();
  const auto known = find_gpu(built_in_gpu_catalogue(), board_of(info.name));
  if (!known) return fail(known.error());
  flags.gpu = known->name;
  const ThisComputer here = probe_this_computer();
  if (flags.ram.empty()) flags.ram = fmt::format("{}MiB", here.memory_available.count / kMiB.count);
  if (!flags.cpu_cores) flags.cpu_cores = static_cast<int>(here.logical_cores);
  return flags;
}

Result<void> limit_to_free_memory(Platform& platform, std::uint32_t number) {
  const auto device = open_cuda_device(number);
  if (!device) return fail(device.error());
  const Bytes free = (*device)->info().free;
  for (MemorySpace& space : platform.spaces) {
    if (space.kind == SpaceKind::kDevice) space.usable = std::min(space.usable, std::max(Bytes(0), free - kBesideArena));
  }
  return {};
}

void measure_copies(Platform& platform, std::uint32_t number, std::vector<std::string>& notes) {
  const WaitingLine waiting("measuring copies");
  try {
    const auto device = open_cuda_device(number);
    if (!device) throw EnvironmentError(device.error());
    const auto cpu = platform.queue("cpu");
    const CopyRates rates = try_copies(**device, static_cast<std::size_t>(platform.at(platform.at(*cpu).processor).cores));
    take_copy_rates(platform, rates);
    notes.push_back(words_of(rates));
  } catch (const EnvironmentError& error) {
    notes.push_back(fmt::format("copies are not measured: {}", error.error().text()));
  }
}

}  // namespace plimsoll
