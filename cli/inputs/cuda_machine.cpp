#include "cli/inputs/cuda_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "cli/print/waiting_line.h"
#include "executor/cuda/device.h"
#include "formats/machines/gpu_catalogue.h"
#include "profiler/probe/this_computer.h"
#include "session/probe/copy_trial.h"

namespace plimsoll {
namespace {

/// Of the backend beside a plan's arena: scratch of the streams, and what the runtime takes when kernels are first used.
constexpr Bytes kBesideArena{std::int64_t{160} << 20};

/// With less of the host's memory copies are not measured.
constexpr Bytes kLeastMemory = kGiB;

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
  const auto not_measured = [&](std::string_view why) { notes.push_back(fmt::format("copies are not measured: {}", why)); };
  const Bytes left = std::min(probe_this_computer().memory_available, platform.at(*platform.space(SpaceKind::kHost)).usable);
  if (left < kLeastMemory) return not_measured("too little memory");
  const auto device = open_cuda_device(number);
  if (!device) return not_measured(device.error().text());
  try {
    const auto threads = static_cast<std::size_t>(platform.at(platform.at(*platform.queue("cpu")).processor).cores);
    const CopyRates rates = try_copies(**device, threads, {.memory = std::min(CopyTrialOptions{}.memory, Bytes(left.count / 4))});
    if (!take_copy_rates(platform, rates)) return not_measured("others left the CPU nothing");
    notes.push_back(words_of(rates));
  } catch (const EnvironmentError& error) {
    not_measured(error.error().text());
  } catch (const std::system_error& error) {  // threads
    not_measured(error.what());
  }
}

}  // namespace plimsoll
