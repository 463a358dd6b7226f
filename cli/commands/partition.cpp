#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options/parse_rate.h"
#include "cli/options/size_option.h"
#include "cli/print/print_partition.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "formats/plans/layer_profile.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/planner/partition/piper_partition.h"

namespace plimsoll {
namespace {

constexpr Bytes kMostText{64 * kMiB.count};
constexpr std::size_t kMostDevices = 4096;

struct PartitionFlags {
  std::string file;
  std::string devices;
  std::string bandwidth;
  std::string memory;
  std::string method = "auto";
  std::string objective = "throughput";
  std::size_t micro_batches = 0;
  bool straight = false;
  bool fewer = false;
  bool json = false;
};

tl::unexpected<Error> refuse(std::string what, std::string where, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// "4x4" and "1e10,1e9", inner first.
Result<std::vector<PartitionLevel>> parse_levels(const std::string& devices, const std::string& bandwidth) {
  std::vector<PartitionLevel> levels;
  const auto counts = split(devices, 'x'), rates = split(bandwidth, ',');
  if (counts.size() != rates.size()) {
    return refuse(fmt::format("{} levels of devices, but {} bandwidths", counts.size(), rates.size()), "--bandwidth",
                  "give one for each level, the innermost first: --devices 4x4 --bandwidth 1e10,1e9");
  }
  std::size_t product = 1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto count = parse_number(counts[i]);
    if (!count || *count < 1 || *count > kMostDevices || *count != static_cast<double>(static_cast<std::size_t>(*count))) {
      return refuse(fmt::format("'{}' is no number of devices from 1 to {}", counts[i], kMostDevices), "--devices",
                    "write 8, or 4x4 for levels");
    }
    const auto rate = parse_rate(rates[i], "--bandwidth");
    if (!rate) return fail(rate.error());
    levels.push_back({static_cast<std::size_t>(*count), *rate});
    product *= levels.back().devices;
  }
  if (product > kMostDevices) return refuse(fmt::format("more than {} devices", kMostDevices), "--devices", "use fewer");
  return levels;
}

Result<PartitionMethod> method_of(const PartitionFlags& flags, bool has_ways) {
  for (const auto method :
       {PartitionMethod::kPipeDream, PartitionMethod::kDnn, PartitionMethod::kAlpa, PartitionMethod::kPiper}) {
    if (flags.method == to_text(method)) return method;
  }
  if (flags.method != "auto") {
    return refuse(fmt::format("there is no method '{}'", flags.method), "--method", "auto, pipedream, dnn, alpa or piper");
  }
  if (flags.objective == "latency") return PartitionMethod::kDnn;
  if (has_ways) return PartitionMethod::kPiper;
  return flags.micro_batches > 0 ? PartitionMethod::kAlpa : PartitionMethod::kPipeDream;
}

/// What the command line leaves out, a profile in Piper's format may say.
Result<std::vector<PartitionLevel>> levels_of(const PartitionFlags& flags, const LayerProfile& profile) {
  std::string devices = flags.devices, bandwidth = flags.bandwidth;
  if (devices.empty() && profile.devices > 0) devices = std::to_string(profile.devices);
  if (bandwidth.empty() && profile.bandwidth > 0) bandwidth = fmt::format("{}", profile.bandwidth);
  if (devices.empty()) return refuse("the profile does not say how many devices there are", "--devices", "as in 8 or 4x4");
  if (bandwidth.empty()) return refuse("the profile does not say how fast devices are joined", "--bandwidth", "as in 1GB/s");
  return parse_levels(devices, bandwidth);
}

Result<PartitionTask> task_of(const PartitionFlags& flags, LayerProfile profile, PartitionMethod method) {
  const auto levels = levels_of(flags, profile);
  if (!levels) return fail(levels.error());
  PartitionTask task{.graph = {}, .levels = *levels};
  if (!flags.memory.empty()) {
    const auto memory = read_size("--memory", flags.memory);
    if (!memory) return fail(memory.error());
    task.memory = *memory;
  } else if (profile.memory.count > 0 && method == PartitionMethod::kPiper) {
    task.memory = profile.memory;
  }
  const bool batches = method == PartitionMethod::kAlpa || method == PartitionMethod::kPiper;
  if (flags.micro_batches > 0 && !batches) {
    return refuse(fmt::format("{} has no micro-batches", to_text(method)), "--micro-batches",
                  "leave it out, or use --method alpa");
  }
  constexpr std::size_t kUsual = 32;
  const std::size_t stated = profile.micro_batches > 0 ? profile.micro_batches : kUsual;
  task.micro_batches = !batches ? 1 : flags.micro_batches > 0 ? flags.micro_batches : stated;
  task.straight = flags.straight;
  task.fewer = flags.fewer;
  task.latency = flags.objective == "latency";
  task.graph = method == PartitionMethod::kPiper ? with_plain_ways(std::move(profile.graph)) : std::move(profile.graph);
  return task;
}

Result<ExitCode> partition(const PartitionFlags& flags) {
  const auto text = read_text_file(flags.file, kMostText);
  if (!text) return fail(text.error());
  auto profile = read_layer_profile(*text, flags.file);
  if (!profile) return fail(profile.error());
  const auto method = method_of(flags, profile->has_ways);
  if (!method) return fail(method.error());
  const auto task = task_of(flags, std::move(*profile), *method);
  if (!task) return fail(task.error());
  const auto answer = [&] {
    const WaitingLine waiting("looking for the best partition");
    return solve_partition(*task, *method);
  }();
  if (!answer) return fail(answer.error());
  if (flags.json) {
    fmt::print("{}\n", partition_json(*task, *answer));
  } else {
    print_partition(flags.file, *task, *answer);
  }
  return answer->best ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_partition(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<PartitionFlags>();
  CLI::App* command = app.add_subcommand("partition", "Divide a profiled model into pipeline stages over devices");
  command->footer(
      "PROFILE is PipeDream's graph.txt or Piper's JSON. Levels of devices are given the innermost first: "
      "--devices 4x4\n--bandwidth 1e10,1e9 are four machines of four. Exit code 3 when nothing fits in --memory.\n"
      "Example: plimsoll partition graph.txt --devices 4 --bandwidth 1GB/s");
  command->add_option("PROFILE", flags->file, "a profile of layers")->required();
  command->add_option("--devices", flags->devices, "how many, as in 8 or 4x4 (default: what the profile says)");
  command->add_option("--bandwidth", flags->bandwidth, "bytes a second between them, as in 1GB/s or 1e10,1e9");
  command->add_option("--memory", flags->memory, "of one device, as in 16GiB (default: not counted, or what the profile says)");
  command->add_option("--method", flags->method, "auto, pipedream, dnn, alpa, piper")->capture_default_str();
  command->add_option("--objective", flags->objective, "throughput, latency")
      ->capture_default_str()
      ->check(CLI::IsMember({"throughput", "latency"}));
  command
      ->add_option("--micro-batches", flags->micro_batches,
                   "of one batch, for alpa and piper (default: 32, or what the profile says)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--straight", flags->straight, "one device a stage: no replicas");
  command->add_flag("--use-fewer", flags->fewer, "leave devices idle where that is faster");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = partition(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
