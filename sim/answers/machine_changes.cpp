#include <fmt/format.h>

#include <algorithm>

#include "formats/machines/constant_table.h"
#include "sim/answers/change.h"

namespace plimsoll {
namespace {

constexpr double kTera = 1e12;
constexpr double kNewSsdTerabytes = 2;
constexpr int kFullLanes = 16;

/// Adds a question on a changed machine; one that cannot be is left out.
void add(const Question& question, std::vector<Change>& changes, std::string kind, std::string name,
         std::vector<Purchase> purchases, const MachineOptions& options) {
  auto moved = on_machine(question, {question.machine->gpu, options});
  if (!moved) return;
  changes.push_back({std::move(kind), std::move(name), ChangeEffect::kTime, std::move(purchases), std::move(*moved)});
}

double in_gib(Bytes bytes) { return static_cast<double>(bytes.count) / static_cast<double>(kGiB.count); }

void add_ram(const Question& question, std::vector<Change>& changes) {
  const auto host = question.platform.space(SpaceKind::kHost);
  if (!host) return;
  const Bytes now = question.platform.at(*host).capacity;
  for (const std::int64_t times : {2, 4}) {
    MachineOptions options = question.machine->options;
    options.ram = now * times;
    add(question, changes, "RAM", fmt::format("{} of RAM", to_text(*options.ram)),
        {{"ram", in_gib(now) * static_cast<double>(times - 1)}}, options);
  }
}

void add_first_drive(const Question& question, std::vector<Change>& changes) {
  MachineOptions options = question.machine->options;
  options.ssd = Bytes(static_cast<std::int64_t>(kNewSsdTerabytes * kTera));
  const double read = machine_defaults().at("ssd.read"), write = machine_defaults().at("ssd.write");
  add(question, changes, "drive", fmt::format("an SSD of {:g} TB, {:g}/{:g} GB/s", kNewSsdTerabytes, read, write),
      {{"ssd", kNewSsdTerabytes}}, options);
}

void add_drives(const Question& question, std::vector<Change>& changes) {
  const MachineOptions& now = question.machine->options;
  if (!now.ssd) return add_first_drive(question, changes);
  const double terabytes = static_cast<double>(now.ssd->count) / kTera;
  const double of_one = terabytes / now.ssd_count;
  MachineOptions more = now;
  more.ssd_count = now.ssd_count + 1;
  more.ssd = Bytes(now.ssd->count / now.ssd_count * more.ssd_count);
  add(question, changes, "drive", fmt::format("{} such SSDs instead of {}", more.ssd_count, now.ssd_count),
      {{"ssd", of_one}}, more);
  MachineOptions fast = now;
  fast.ssd_read_gbs = 2 * now.ssd_read_gbs.value_or(machine_defaults().at("ssd.read"));
  fast.ssd_write_gbs = 2 * now.ssd_write_gbs.value_or(machine_defaults().at("ssd.write"));
  add(question, changes, "drive", fmt::format("SSDs twice as fast, {:g}/{:g} GB/s", *fast.ssd_read_gbs, *fast.ssd_write_gbs),
      {{"ssd.fast", terabytes}}, fast);
  if (!now.ssd_uplink_gbs) return;
  MachineOptions apart = now;
  apart.ssd_uplink_gbs.reset();
  add(question, changes, "drive", "drives without a common uplink", {{"mainboard", 1}}, apart);
}

/// Only where a slot gives the board less than it could take.
void add_links(const Question& question, std::vector<Change>& changes) {
  const MachineOptions& now = question.machine->options;
  const GpuEntry& gpu = question.machine->gpu;
  const int most_lanes = gpu.pcie_lanes.value_or(kFullLanes), newest = gpu.pcie_generation.value_or(4);
  if (now.pcie_lanes && *now.pcie_lanes < most_lanes) {
    MachineOptions options = now;
    options.pcie_lanes = std::min(most_lanes, 2 * *now.pcie_lanes);
    add(question, changes, "link", fmt::format("{} PCIe lanes", *options.pcie_lanes), {{"mainboard", 1}}, options);
  }
  if (now.pcie_generation && *now.pcie_generation < newest) {
    MachineOptions options = now;
    options.pcie_generation = *now.pcie_generation + 1;
    add(question, changes, "link", fmt::format("PCIe {}.0", *options.pcie_generation), {{"mainboard", 1}}, options);
  }
}

void add_processor(const Question& question, std::vector<Change>& changes) {
  for (const Processor& processor : question.platform.processors) {
    if (processor.kind != ProcessorKind::kCpu) continue;
    MachineOptions options = question.machine->options;
    options.cpu_cores = static_cast<int>(std::min<std::int64_t>(2 * processor.cores, 1024));
    add(question, changes, "CPU", fmt::format("{} CPU cores", *options.cpu_cores), {{"cpu", 1}}, options);
    options = question.machine->options;
    options.dram_gbs = 2 * processor.bytes_per_second * 1e-9;
    add(question, changes, "RAM", fmt::format("RAM twice as fast, {:g} GB/s", *options.dram_gbs),
        {{"ram.fast", in_gib(question.platform.at(processor.space).capacity)}}, options);
  }
}

void add_system(const Question& question, std::vector<Change>& changes) {
  MachineOptions options = question.machine->options;
  if (options.desktop) {
    options.desktop = false;
    add(question, changes, "system", "no desktop on the GPU", {}, options);
  }
  options = question.machine->options;
  if (options.os != OperatingSystem::kLinux) {
    options.os = OperatingSystem::kLinux;
    add(question, changes, "system", "Linux", {}, options);
  }
}

/// The machine's options that a board of the same kind in the same place has; a cap on memory was the old board's.
MachineOptions for_other_board(MachineOptions options) {
  options.device_memory.reset();
  return options;
}

/// Whether a board has nothing that the other has not: no more memory, and nothing faster.
bool is_no_better(const GpuEntry& other, const GpuEntry& now) {
  const auto no_more = [](const std::optional<double>& a, const std::optional<double>& b) {
    return a.value_or(0) <= b.value_or(0);
  };
  return other.memory <= now.memory && other.memory_gbs <= now.memory_gbs && no_more(other.fp16_tflops, now.fp16_tflops) &&
         no_more(other.bf16_tflops, now.bf16_tflops) && no_more(other.fp32_tflops, now.fp32_tflops) &&
         other.pcie_generation.value_or(0) <= now.pcie_generation.value_or(0);
}

}  // namespace

void add_machine_changes(const Question& question, std::vector<Change>& changes) {
  if (!question.machine) return;
  if (!question.stack) {  // other stacks' rules know GPUs alone
    add_ram(question, changes);
    add_drives(question, changes);
    add_links(question, changes);
    add_processor(question, changes);
  }
  add_system(question, changes);
}

void add_gpu_changes(const Question& question, std::vector<Change>& changes) {
  if (!question.machine) return;
  const GpuEntry& now = question.machine->gpu;
  for (const GpuEntry& gpu : built_in_gpu_catalogue()) {
    if (gpu.board != now.board || gpu.name == now.name || is_no_better(gpu, now)) continue;
    auto moved = on_machine(question, {gpu, for_other_board(question.machine->options)});
    if (!moved) continue;
    Change change{"GPU", gpu.name, ChangeEffect::kTime, {{gpu.name, 1}}, std::move(*moved)};
    const Precision asked = question.recipe.precision;
    const bool without = asked == Precision::kBf16Mixed && !gpu.bf16_tflops.value_or(0);
    if (without) {  // nobody would compute in bf16 there
      change.question.recipe.precision = default_precision(gpu).precision;
      change.effect = ChangeEffect::kTraining;
      change.name += fmt::format(" in {}", to_text(change.question.recipe.precision));
    }
    changes.push_back(std::move(change));
  }
  if (!question.stack) return;
  Question two = question;
  two.stack->data_ranks = 2 * std::max<std::int64_t>(two.stack->data_ranks, two.machine->options.gpus);
  two.machine->options.gpus = 1;
  const std::int64_t added = two.stack->data_ranks / 2;
  changes.push_back({"GPU", fmt::format("{} GPUs instead of {}, twice the batch", 2 * added, added), ChangeEffect::kTraining,
                     {{now.name, static_cast<double>(added)}}, std::move(two)});
}

}  // namespace plimsoll
