#include "sim/answers/machine_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "formats/machines/constant_table.h"

namespace plimsoll {
namespace {

constexpr double kGpusOfHost = 8;
constexpr double kGiga = 1e9;

void set_drive(MachineFacts& facts, const Question& question) {
  const Platform& platform = question.platform;
  const auto ssd = platform.space(SpaceKind::kSsd);
  const auto host = platform.space(SpaceKind::kHost);
  if (!ssd || !host) {
    facts.drive_read = kGiga * machine_defaults().at("ssd.read");
    facts.drive_write = kGiga * machine_defaults().at("ssd.write");
    facts.drive_words = fmt::format("no --ssd: data and checkpoints on a drive of {:.1f}/{:.1f} GB/s (assumed)",
                                    facts.drive_read / kGiga, facts.drive_write / kGiga);
    return;
  }
  facts.drive_read = platform.at(*platform.link(*ssd, *host)).bytes_per_second;
  facts.drive_write = platform.at(*platform.link(*host, *ssd)).bytes_per_second;
  facts.drive_bytes = static_cast<double>(platform.at(*ssd).capacity.count);
  facts.drives = question.machine ? question.machine->options.ssd_count : 1;
  facts.drive_words = fmt::format("data and checkpoints on the drive of the plan, {:.1f}/{:.1f} GB/s", facts.drive_read / kGiga,
                                  facts.drive_write / kGiga);
}

/// Hosts of one replica of the states; under ZeRO no data rank has the optimizer states of another.
double writing_hosts(const Question& question) {
  if (!question.stack) return 1;
  const StackSetup& setup = *question.stack;
  const std::int64_t replicated = setup.tensor_ranks * setup.stages;
  const std::int64_t different = setup.zero > 0 ? replicated * setup.data_ranks : replicated;
  return std::ceil(static_cast<double>(different) / kGpusOfHost);
}

/// Modules on server boards: SXM by name, and those that are sold in no other form.
bool is_of_servers(const std::string& name) {
  constexpr std::string_view kModules[] = {"H20 ", "GH200", "GB200", "GB300", "MI250", "MI300", "MI325", "MI355"};
  const auto has = [&](std::string_view module) { return name.find(module) != std::string::npos; };
  return has("SXM") || std::ranges::any_of(kModules, has);
}

}  // namespace

MachineFacts machine_facts(const Question& question, std::int64_t gpus) {
  MachineFacts facts;
  facts.gpus = static_cast<double>(gpus);
  facts.hosts = std::ceil(facts.gpus / kGpusOfHost);
  facts.writing_hosts = std::min(facts.hosts, writing_hosts(question));
  for (const Processor& processor : question.platform.processors) {
    if (processor.kind == ProcessorKind::kCpu) facts.cores = static_cast<double>(processor.cores);
    else facts.has_gpu = true;
  }
  if (const auto host = question.platform.space(SpaceKind::kHost)) {
    facts.ram_gib = static_cast<double>(question.platform.at(*host).capacity.count) / static_cast<double>(kGiB.count);
  }
  if (question.machine) {
    facts.has_gpu = true;
    facts.board_watts = question.machine->gpu.power_watts;
    facts.in_servers = is_of_servers(question.machine->gpu.name);
    facts.board_origin = fmt::format("board power of {} in the catalogue", question.machine->gpu.name);
  }
  set_drive(facts, question);
  return facts;
}

}  // namespace plimsoll
