#include "sim/replay/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/commands/replay_elsewhere.h"
#include "cli/commands/replay_memory.h"
#include "cli/inputs/operator_file.h"
#include "cli/options/number_checks.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answered.h"
#include "formats/runs/short_kernel_name.h"
#include "formats/traces/read_operators.h"
#include "formats/traces/read_recording.h"

namespace plimsoll {
namespace {

struct ReplayFlags {
  std::string file;
  std::vector<std::string> scales;
  ElsewhereFlags elsewhere;
  bool no_host_gaps = false;
  bool memory = false;
  bool expandable = false;
  bool json = false;
};

constexpr std::size_t kMostOnPath = 8;

/// What fills the critical path, the most first: kernels by name, calls by name.
std::vector<std::pair<std::string, Nanoseconds>> on_path(const Recording& recording, const Replayed& replayed) {
  std::map<std::string, Nanoseconds> times;
  for (const std::uint32_t id : replayed.path.nodes) {
    const ReplayNode& node = replayed.graph.nodes[id];
    if (node.kind == ReplayNodeKind::kFlight) continue;
    const bool work = node.kind == ReplayNodeKind::kWork;
    const std::string& name = recording.names.at(work ? recording.work[node.source].name : recording.calls[node.source].name);
    times[work ? short_kernel_name(name) : name] += node.duration;
  }
  std::vector<std::pair<std::string, Nanoseconds>> list(times.begin(), times.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (list.size() > kMostOnPath) list.resize(kMostOnPath);
  return list;
}

/// Of a fraction; never "-0.00 %".
std::string signed_percent(double fraction) {
  const double percent = 100 * fraction;
  return fmt::format("{:+.2f} %", std::abs(percent) < 0.005 ? 0.0 : percent);
}

std::string replay_text(const Recording& recording, const Replayed& replayed, bool what_if) {
  const ReplayGraph& graph = replayed.graph;
  std::string text = fmt::format("{}: {} pieces of device work on {} streams, {} calls on {} threads\n", recording.source, replayed.events,
             RecordingIndex(recording).streams().size(), recording.calls.size(), recording.threads.size());
  text += fmt::format("  recorded {}, {} {} ({})\n", to_text(replayed.traced), what_if ? "would take" : "replayed",
             to_text(replayed.predicted), signed_percent(replayed.error()));
  if (!what_if) {
    text += fmt::format("  starts of device work are off by {} (median), {} (nine of ten), {} (worst)\n",
               to_text(replayed.start_error_p50), to_text(replayed.start_error_p90), to_text(replayed.start_error_worst));
  }
  const ReplayPath& path = replayed.path;
  text += fmt::format("  critical path {}: device {}, CUDA calls {}, host between calls {}, launches {}\n", to_text(path.total),
             to_text(path.device), to_text(path.calls), to_text(path.host), to_text(path.launch));
  for (const auto& [name, time] : on_path(recording, replayed)) text += fmt::format("    {:>12}  {}\n", to_text(time), name);
  text += fmt::format("  {} waits between streams recorded, {} inferred; {} handovers between threads", graph.recorded_edges,
             graph.inferred_edges, graph.handovers);
  return text + fmt::format("; {} pieces of work of unknown launch held at their start\n", graph.pinned);
}

std::string replay_json(const Recording& recording, const Replayed& replayed, const std::vector<std::string>& notes) {
  using nlohmann::ordered_json;
  const ReplayPath& path = replayed.path;
  ordered_json top = ordered_json::array();
  for (const auto& [name, time] : on_path(recording, replayed)) top.push_back({{"name", name}, {"seconds", to_seconds(time)}});
  const ordered_json object{
      {"format_version", 1},
      {"events", replayed.events},
      {"traced_seconds", to_seconds(replayed.traced)},
      {"predicted_seconds", to_seconds(replayed.predicted)},
      {"error", replayed.error()},
      {"start_error_p50_seconds", to_seconds(replayed.start_error_p50)},
      {"start_error_p90_seconds", to_seconds(replayed.start_error_p90)},
      {"start_error_worst_seconds", to_seconds(replayed.start_error_worst)},
      {"critical_path_seconds", to_seconds(path.total)},
      {"critical_path",
       {{"device_seconds", to_seconds(path.device)},
        {"call_seconds", to_seconds(path.calls)},
        {"host_seconds", to_seconds(path.host)},
        {"launch_seconds", to_seconds(path.launch)},
        {"top", top}}},
      {"source", recording.source},
      {"streams", RecordingIndex(recording).streams().size()},
      {"stream_waits", {{"recorded", replayed.graph.recorded_edges}, {"inferred", replayed.graph.inferred_edges}}},
      {"thread_handovers", replayed.graph.handovers},
      {"pinned", replayed.graph.pinned},
      {"notes", notes}};
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

/// A rule that nothing fits would be ignored.
Result<void> check_rules(const Recording& recording, const std::vector<ScaleRule>& rules) {
  for (const ScaleRule& rule : rules) {
    bool any = rule.part == ReplayPart::kGap || rule.part == ReplayPart::kCall;
    const auto kind = static_cast<DeviceWorkKind>(rule.part);
    for (const DeviceWork& work : recording.work)
      any = any || (!any && work.kind == kind && fits(rule, recording.names.at(work.name)));
    if (rule.part == ReplayPart::kCall) {
      any = std::any_of(recording.calls.begin(), recording.calls.end(),
                        [&](const HostCall& call) { return fits(rule, recording.names.at(call.name)); });
    }
    if (any) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("nothing in the trace fits '{}'", rule.pattern),
                 .where = "--scale",
                 .remedy = "plimsoll import FILE lists the kernels; a pattern is a part of a name, or with * the whole"});
  }
  return {};
}

Result<Answered> replay_file(const ReplayFlags& flags) {
  if (flags.memory) {
    if (!flags.scales.empty() || flags.no_host_gaps || flags.elsewhere.any())
      return fail({.kind = ErrorKind::kInput,
                   .what = "what-ifs of times say nothing of memory",
                   .where = "--memory",
                   .remedy = "leave --scale, --gpu, --bandwidth and --no-host-gaps out"});
    return replay_memory(flags.file, flags.expandable, flags.json);
  }
  ReplayOptions options{.scales = {}, .host_gaps = !flags.no_host_gaps};
  for (const std::string& text : flags.scales) {
    const auto rule = parse_scale_rule(text);
    if (!rule) return fail(rule.error());
    options.scales.push_back(*rule);
  }
  if (holds_operators(flags.file)) {
    if (flags.no_host_gaps || flags.elsewhere.any()) {
      return fail({.kind = ErrorKind::kInput,
                   .what = "an execution trace tells neither pauses between calls nor its GPU",
                   .where = "--no-host-gaps, --gpu, --bandwidth",
                   .remedy = "leave them out; --scale works"});
    }
    return replay_operators(flags.file, options.scales, flags.json);
  }
  const WaitingLine waiting("replaying");
  const auto recording = read_recording(flags.file);
  if (!recording) return fail(recording.error());
  if (auto known = check_rules(*recording, options.scales); !known) return fail(known.error());
  const auto notes = move_elsewhere(flags.elsewhere, *recording, options);
  if (!notes) return fail(notes.error());
  auto replayed = replay(*recording, options);
  if (!replayed) {
    replayed.error().where = flags.file;
    return fail(replayed.error());
  }
  if (flags.json) return Answered{.text = replay_json(*recording, *replayed, *notes), .said = {}};
  std::string text = replay_text(*recording, *replayed, flags.no_host_gaps || !flags.scales.empty() || flags.elsewhere.any());
  for (const std::string& note : *notes) text += fmt::format("  {}\n", note);
  return Answered{.text = std::move(text), .said = {}};
}

}  // namespace

AskableCommand declare_replay(CLI::App& app) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* command = app.add_subcommand("replay", "Run a recorded trace again in simulated time, and ask what if");
  command->footer(
      "TRACE is what import reads, or a run file with device activity.\n"
      "Example: plimsoll replay trace.json.gz --scale kernel=gemm:0.8 --scale copy=HtoD:0.5\n"
      "Example: plimsoll replay snapshot.pickle --memory");
  command->add_option("TRACE", flags->file, "the trace")->required();
  command
      ->add_option("--scale", flags->scales,
                   "PART=PATTERN:FACTOR, any number of them: what if these took FACTOR times as long; PART is kernel, copy, "
                   "fill, call, gap")
      ->allow_extra_args(false);
  command->add_flag("--no-host-gaps", flags->no_host_gaps, "what if the host went from CUDA call to CUDA call without a pause");
  command->add_option("--gpu", flags->elsewhere.gpu, "what if it ran on that GPU of the catalogue (by nominal rates)");
  command->add_option("--recorded-gpu", flags->elsewhere.recorded_gpu, "with --gpu: the GPU of the recording, where the trace does not tell");
  command->add_option("--bandwidth", flags->elsewhere.bandwidth, "what if copies between host and device reached so many GB/s each way")
      ->check(above_zero());
  command->add_flag("--memory", flags->memory,
                    "replay the framework's allocations through a model of PyTorch's caching allocator, and compare what is reserved");
  command->add_flag("--expandable-segments", flags->expandable, "with --memory: as if PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  command->add_flag("--json", flags->json, "machine-readable answer");
  return {command, [flags] { return replay_file(*flags); }};
}

void add_replay(CLI::App& app, ExitCode& code) { print_when_called(declare_replay(app), code); }

}  // namespace plimsoll
