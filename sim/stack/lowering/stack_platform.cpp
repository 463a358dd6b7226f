#include "sim/stack/lowering/stack_platform.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "formats/machines/constant_table.h"

namespace plimsoll {
namespace {

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr std::string_view kExpandable = "expandable segments";
constexpr std::string_view kRanks = " ranks";

/// As many as options take; a plan that somebody wrote may say anything.
constexpr std::int64_t kMostOfADegree = 1024;
constexpr std::int64_t kMostDataRanks = std::int64_t{1} << 20;

/// Degrees beside that of data ranks, as words have them.
struct NamedDegree {
  std::string_view name;
  std::int64_t StackSetup::*degree;
};
constexpr NamedDegree kDegrees[] = {{"tp", &StackSetup::tensor_ranks}, {"pp", &StackSetup::stages}, {"cp", &StackSetup::context_ranks}};

MemorySpace space(std::string name, SpaceKind kind, Bytes capacity, Bytes usable) {
  return {.name = std::move(name), .kind = kind, .capacity = capacity, .usable = usable};
}

Processor gpu_processor(const GpuEntry& gpu) {
  return {.name = "gpu0", .kind = ProcessorKind::kGpu, .space = kStackDevice, .cores = std::max<std::int64_t>(1, gpu.multiprocessors),
          .bytes_per_second = gpu.memory_gbs * kGiga, .fp32_flops = gpu.fp32_tflops.value_or(0) * kTera,
          .fp16_flops = gpu.fp16_tflops.value_or(0) * kTera, .bf16_flops = gpu.bf16_tflops.value_or(0) * kTera,
          .calibration_name = gpu.name};
}

Queue queue(std::string name, QueueKind kind, std::uint32_t processor) {
  return {.name = std::move(name), .kind = kind, .processor = ProcessorId(processor), .demands = {}};
}

}  // namespace

Platform stack_platform(const GpuEntry& gpu, const StackSetup& setup, const DeviceRoom& room) {
  Platform platform{.name = gpu.name};
  const Bytes ram = setup.host_memory.value_or(
      kGiB * static_cast<std::int64_t>(machine_defaults().at(fmt::format("ram.{}", to_text(gpu.board)))));
  platform.spaces = {space("gpu0", SpaceKind::kDevice, gpu.memory, room.usable),
                     space("gpu0.context", SpaceKind::kDevice, room.context + room.others, room.context + room.others),
                     space("host", SpaceKind::kHost, ram, ram), space("ssd", SpaceKind::kSsd, kGiB * 1024, kGiB * 1024)};
  platform.processors = {gpu_processor(gpu), {.name = "cpu", .kind = ProcessorKind::kCpu, .space = kStackHost, .calibration_name = "cpu"}};
  platform.queues = {queue("compute", QueueKind::kCompute, 0), queue("collectives", QueueKind::kCommunication, 0),
                     queue("copies", QueueKind::kCopy, 0), queue("cpu", QueueKind::kHostCompute, 1),
                     queue("ssd", QueueKind::kStorage, 1)};
  // One that kernels wait for passes one that they do not, and those of one phase last into the next.
  for (const StepLane lane : {StepLane::kCopies, StepLane::kCollectives, StepLane::kDrive}) platform.queues[queue_of(lane).index].width = 2;
  return platform;
}

QueueId queue_of(StepLane lane) { return QueueId(static_cast<std::uint32_t>(lane)); }

std::string stack_words(const StackSetup& setup) {
  std::string words(to_text(setup.stack));
  const std::int64_t ranks = setup.data_ranks;
  if (ranks > 1) words += fmt::format(", {} data{}", ranks, kRanks);
  for (const NamedDegree& d : kDegrees) {
    if (setup.*d.degree > 1) words += fmt::format(", {} {}", d.name, setup.*d.degree);
  }
  if (setup.preference.exists()) words += fmt::format(", {}", to_text(setup.preference.method));
  if (setup.expandable_segments) words += fmt::format(", {}", kExpandable);
  return words;
}

Result<StackSetup> read_stack_words(std::string_view words) {
  StackSetup setup;
  const auto stack = parse_stack(words.substr(0, words.find(',')));
  if (!stack) return fail(stack.error());
  setup.stack = *stack;
  setup.expandable_segments = words.ends_with(kExpandable);
  for (const PreferenceMethod method : {PreferenceMethod::kDpo, PreferenceMethod::kKto, PreferenceMethod::kGrpo}) {
    if (words.find(fmt::format(", {}", to_text(method))) != std::string_view::npos) setup.preference.method = method;
  }
  const auto number_at = [&](std::size_t at, std::int64_t most, std::int64_t& number) {
    const std::string_view digits = words.substr(at);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    number = std::clamp<std::int64_t>(number, 1, most);
  };
  for (const NamedDegree& d : kDegrees) {
    const std::string before = fmt::format(", {} ", d.name);
    if (const auto at = words.find(before); at != std::string_view::npos) number_at(at + before.size(), kMostOfADegree, setup.*d.degree);
  }
  const auto comma = words.find(", ");
  if (comma != std::string_view::npos && words.find(kRanks) != std::string_view::npos) number_at(comma + 2, kMostDataRanks, setup.data_ranks);
  return setup;
}

}  // namespace plimsoll
