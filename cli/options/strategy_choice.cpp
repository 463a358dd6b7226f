#include "cli/options/strategy_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/print/output_file.h"
#include "formats/plans/strategy_json.h"
#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "sim/planner/strategy_families.h"
#include "sim/planner/systems/offload_system.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestStrategyFile{std::int64_t{1} << 20};

bool is_file(const std::string& text) {
  const std::filesystem::path path(text);
  if (path.extension() == ".json") return true;
  const std::vector<std::string> names = strategy_names();
  if (text == "auto" || text == "all" || std::find(names.begin(), names.end(), text) != names.end()) return false;
  std::error_code unreadable;
  return std::filesystem::is_regular_file(path, unreadable);
}

}  // namespace

Result<StrategyChoice> read_strategy_choice(const std::string& text) {
  if (!is_file(text)) return StrategyChoice{.family = text, .exact = {}};
  const auto file = read_text_file(text, kLargestStrategyFile);
  if (!file) return fail(file.error());
  auto strategy = read_strategy(*file, text);
  if (!strategy) return fail(strategy.error());
  if (strategy->name == Strategy{}.name) strategy->name = family_of(*strategy);  // the file did not name it
  return StrategyChoice{.family = {}, .exact = std::move(*strategy)};
}

std::string strategy_help(const std::string& also) {
  std::string names;
  for (const std::string& name : strategy_names()) names += ", " + name;
  return fmt::format("auto{}{}, or a strategy FILE.json", also, names);
}

Result<void> take_system(const std::string& name, Recipe& recipe, std::vector<std::string>& notes) {
  const OffloadSystem* system = find_system(name);
  if (system == nullptr) return {};
  const auto own = recipe_for(*system, recipe);
  if (!own) return fail(own.error());
  if (own->delay > recipe.delay) notes.push_back(fmt::format("{} changes numbers: an update takes the gradients of the step before", name));
  recipe = *own;
  return {};
}

Result<void> check_strategy_output(const std::string& path) {
  return path.empty() ? Result<void>{} : check_replaceable(path, FileKind::kJson);
}

void save_strategy(const std::string& path, const Strategy& strategy) {
  if (!path.empty()) write_text_file(path, write_strategy(strategy));
}

}  // namespace plimsoll
