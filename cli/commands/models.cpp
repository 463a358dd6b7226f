#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/program/answer_error.h"
#include "core/base/nearest_names.h"
#include "formats/models/hub_name.h"
#include "formats/models/model_zoo.h"
#include "formats/text/csv.h"

namespace plimsoll {

namespace {

void print_rows(const std::vector<ZooModel>& models) {
  std::size_t longest = 0;
  for (const ZooModel& model : models) longest = std::max(longest, model.name.size());
  fmt::print("{:<{}}{:>16}{:>8}{:>8}{:>8}{:>8}\n", "model", longest, "parameters", "layers", "hidden", "heads", "kv");
  for (const ZooModel& model : models) {
    const ModelSpec& spec = model.spec;
    fmt::print("{:<{}}{:>16}{:>8}{:>8}{:>8}{:>8}\n", model.name, longest, model.parameters, spec.layers, spec.hidden, spec.heads, spec.kv_heads);
  }
}

void print_csv(const std::vector<ZooModel>& models) {
  fmt::print("model,parameters,layers,hidden,heads,kv_heads\n");
  for (const ZooModel& model : models) {
    const ModelSpec& spec = model.spec;
    fmt::print("{},{},{},{},{},{}\n", csv_field(model.name), model.parameters, spec.layers, spec.hidden, spec.heads, spec.kv_heads);
  }
}

void print_json(const std::vector<ZooModel>& models) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const ZooModel& model : models) {
    rows.push_back({{"name", model.name},
                    {"parameters", model.parameters},
                    {"layers", model.spec.layers},
                    {"hidden", model.spec.hidden},
                    {"heads", model.spec.heads},
                    {"kv_heads", model.spec.kv_heads},
                    {"origin", model.origin}});
  }
  fmt::print("{}\n", rows.dump(2));
}

/// Those with `part` in their name; where none has it, those with it in one of their other names, or the one that it is a fine-tune of.
Result<std::vector<ZooModel>> models_with(const std::string& part) {
  const auto has_part = [&](const std::string& name) { return has_in_name(name, part); };
  std::vector<ZooModel> found;
  std::ranges::copy_if(built_in_zoo(), std::back_inserter(found), has_part, &ZooModel::name);
  if (!found.empty()) return found;
  std::ranges::copy_if(built_in_zoo(), std::back_inserter(found),
                       [&](const ZooModel& model) { return std::ranges::any_of(model.aliases, has_part); });
  if (!found.empty()) return found;
  if (auto hub = match_hub_name(part)) return std::vector<ZooModel>{std::move(hub->model)};
  return fail(find_in_zoo(part).error());
}

}  // namespace

void add_models(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  auto csv = std::make_shared<bool>(false);
  auto part = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("models", "List the models that the program knows by name");
  command->footer("Example: plimsoll models qwen3; plimsoll models --json");
  command->add_option("NAME", *part, "only models that have this in their name");
  command->add_flag("--json", *json, "machine-readable answer");
  command->add_flag("--csv", *csv, "the table as CSV")->excludes("--json");
  command->callback([json, csv, part, command, &code] {
    const auto models = models_with(*part);
    if (!models) {
      code = report_error(*command, models.error());
      return;
    }
    if (*json) print_json(*models);
    else if (*csv) print_csv(*models);
    else print_rows(*models);
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
