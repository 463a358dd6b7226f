#include "cli/inputs/probe_cache.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "cli/commands.h"
#include "formats/text/read_text_file.h"
#include "sim/cost/calibrate.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/cost/probe_statistics.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestProbe{std::int64_t{1} << 24};

}  // namespace

Result<std::string> probe_cache_path() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  // The XDG base directory specification tells to ignore relative paths.
  const bool named = cache != nullptr && cache[0] == '/';
  if (!named && (home == nullptr || home[0] == '\0')) {
    return fail({.kind = ErrorKind::kEnvironment,
                 .what = "neither XDG_CACHE_HOME nor HOME says where the probe is kept",
                 .where = {},
                 .remedy = "write it elsewhere with -o FILE, and use it with --machine FILE"});
  }
  const std::filesystem::path folder = named ? std::filesystem::path(cache) : std::filesystem::path(home) / ".cache";
  return (folder / "plimsoll" / "machine.json").string();
}

Result<MachineProbe> load_probe(const std::string& path) {
  const auto text = read_text_file(path, kLargestProbe);
  if (!text) return fail(text.error());
  return read_probe(*text, path);
}

Result<std::shared_ptr<const CostModel>> costs_of(const MachineProbe& probe) {
  auto statistics = statistics_of(probe);
  if (!statistics) return fail(statistics.error());
  return calibrate(std::move(*statistics), std::make_shared<CatalogueCostModel>()).model;
}

KnownProbe find_probe(const ThisComputer& computer) {
  const auto path = probe_cache_path();
  std::error_code unreadable;  // another user's folder, a path that is too long: then there is no probe
  if (!path || !std::filesystem::exists(*path, unreadable)) {
    return {.probe = {}, .note = "costs are assumed; plimsoll machines --probe measures this computer"};
  }
  auto probe = load_probe(*path);
  if (!probe) return {.probe = {}, .note = probe.error().text()};
  const auto valid = check_probe(*probe, computer.cpu_model, computer.logical_cores, version());
  if (!valid) return {.probe = {}, .note = valid.error().text()};
  std::string note = fmt::format("costs measured by plimsoll machines --probe on {}", probe->date);
  return {.probe = std::move(*probe), .note = std::move(note)};
}

Result<std::shared_ptr<const CostModel>> own_costs(const Platform& platform) {
  const KnownProbe known = find_probe(probe_this_computer());
  if (!known.probe || known.probe->platform.name != platform.name) return nullptr;
  return costs_of(*known.probe);
}

}  // namespace plimsoll
