#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands.h"
#include "cli/options/number_checks.h"
#include "cli/options/size_option.h"
#include "cli/print/output_file.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "formats/plans/packing_csv.h"
#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/packing/coexistence.h"
#include "sim/planner/packing/solve_packing.h"
#include "sim/planner/packing/verify_task_packing.h"

namespace plimsoll {
namespace {

constexpr Bytes kMostText{1 << 30};

struct PackFlags {
  std::string file;
  std::string capacity;
  double time_limit = 60;
  std::string output;
  bool json = false;
};

std::function<bool()> stop_after(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  return [end] { return std::chrono::steady_clock::now() >= end; };
}

PackingAnswer solve(const PackFlags& flags, const PackingTask& task, std::optional<Bytes> capacity) {
  const WaitingLine waiting("looking for offsets");
  const PackingLimits limits{.attempts = 100'000'000, .climbs = 100'000'000, .stop = stop_after(flags.time_limit)};
  return capacity ? fit_packing(task, *capacity, limits) : lowest_packing(task, limits);
}

const char* verdict_text(PackingVerdict verdict) {
  if (verdict == PackingVerdict::kPacked) return "fits";
  return verdict == PackingVerdict::kImpossible ? "does_not_fit" : "undecided";
}

std::string answer_json(const PackingTask& task, const PackingAnswer& answer, std::optional<Bytes> capacity) {
  nlohmann::ordered_json json{{"format_version", 1},
                              {"verdict", verdict_text(answer.verdict)},
                              {"buffers", task.size()},
                              {"load_bytes", peak_load(task).count}};
  if (capacity) json["capacity_bytes"] = capacity->count;
  if (answer.verdict != PackingVerdict::kPacked) return json.dump() + "\n";
  json["height_bytes"] = answer.packing.height.count;
  auto& offsets = json["offsets"] = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < task.size(); ++i) offsets[task[i].id] = answer.packing.offsets[i].count;
  return json.dump() + "\n";
}

/// The buffers that collide when the load alone is too much, in words.
std::string why_not(const PackingTask& task, std::optional<Bytes> capacity, PackingVerdict verdict) {
  if (verdict == PackingVerdict::kUndecided) {
    return "  neither a packing nor a proof was found in time: give more with --time-limit";
  }
  if (!capacity) return "  buffers with a fixed offset collide";
  const Bytes load = peak_load(task);
  if (load <= *capacity) return "  proven by exhaustion: the buffers fit at every moment, but not at one set of offsets";
  std::string text = fmt::format("  the buffers in use at one moment alone are {} too many:", load.count - capacity->count);
  const std::vector<std::uint32_t> at_peak = buffers_at_peak(task);
  constexpr std::size_t kMostNamed = 12;
  for (std::size_t i = 0; i < at_peak.size() && i < kMostNamed; ++i) {
    text += fmt::format(" {} ({})", task[at_peak[i]].id, task[at_peak[i]].size.count);
  }
  return at_peak.size() > kMostNamed ? text + fmt::format(" and {} more", at_peak.size() - kMostNamed) : text;
}

Result<std::optional<Bytes>> capacity_of(const PackFlags& flags) {
  if (flags.capacity.empty()) return std::optional<Bytes>();
  const auto size = read_size("--capacity", flags.capacity);
  if (!size) return fail(size.error());
  return *size;
}

Result<PackingFile> read_task(const PackFlags& flags) {
  const auto text = read_text_file(flags.file, kMostText);
  if (!text) return fail(text.error());
  return read_packing_csv(*text, flags.file);
}

/// A table of buffers may be replaced by another one only.
Result<void> check_output(const std::string& path) {
  if (path.empty()) return {};
  if (const auto place = check_place(path); !place) return place;
  if (!std::filesystem::exists(path) || std::filesystem::is_empty(path)) return {};
  const auto text = read_text_file(path, kMostText);
  if (text && read_packing_csv(*text, path)) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "this holds no table of buffers, so it is not replaced",
               .where = path,
               .remedy = "choose another name"});
}

/// The table goes to a file, or else to standard output unless that is for JSON.
Result<void> write_table(const PackFlags& flags, const PackingFile& file, const TaskPacking& packing) {
  if (const auto verified = verify_task_packing(file.task, packing); !verified) return verified;
  const std::string table = write_packing_csv(file, packing.offsets);
  if (!flags.output.empty()) {
    write_text_file(flags.output, table);
  } else if (!flags.json) {
    fmt::print("{}", table);
  }
  return {};
}

void tell(const PackingTask& task, const PackingAnswer& answer, std::optional<Bytes> capacity) {
  fmt::print(stderr, "plimsoll: {} buffers, load {}: ", task.size(), peak_load(task).count);
  if (answer.verdict == PackingVerdict::kPacked) {
    fmt::print(stderr, "fit in {}\n", answer.packing.height.count);
    return;
  }
  const std::string in_what = capacity ? fmt::format(" in {}", capacity->count) : "";
  fmt::print(stderr, "no packing{}\n{}\n", in_what, why_not(task, capacity, answer.verdict));
}

Result<ExitCode> pack(const PackFlags& flags) {
  const auto capacity = capacity_of(flags);
  if (!capacity) return fail(capacity.error());
  if (const auto usable = check_output(flags.output); !usable) return fail(usable.error());
  const auto file = read_task(flags);
  if (!file) return fail(file.error());
  const PackingAnswer answer = solve(flags, file->task, *capacity);
  const bool packed = answer.verdict == PackingVerdict::kPacked;
  if (packed) {
    if (const auto written = write_table(flags, *file, answer.packing); !written) return fail(written.error());
  }
  if (flags.json) fmt::print("{}", answer_json(file->task, answer, *capacity));
  tell(file->task, answer, *capacity);
  return packed ? ExitCode::kDone : ExitCode::kMissed;
}

}  // namespace

void add_pack(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<PackFlags>();
  CLI::App* command = app.add_subcommand("pack", "Give buffers with known lives their offsets in one arena");
  command->footer(
      "FILE has the columns id, lower, upper, size and perhaps alignment, offset (fixed), gaps (\"4-9 12-15\") and hint;\n"
      "a buffer is in use from lower up to, but not at, upper. The answer is the same table with its offsets.\n"
      "Example: plimsoll pack buffers.csv --capacity 1048576 --out packed.csv");
  command->add_option("FILE", flags->file, "a CSV file")->required();
  command->add_option("--capacity", flags->capacity,
                      "bytes of the arena, as in 1048576 or 1MiB (default: as few as can be found)");
  command->add_option("--time-limit", flags->time_limit, "seconds")->capture_default_str()->check(above_zero());
  command->add_option("--out", flags->output, "where the table goes (default: standard output)");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = pack(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
