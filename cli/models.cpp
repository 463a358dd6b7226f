#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "formats/models/model_zoo.h"
#include "formats/text/csv.h"

namespace plimsoll {

void add_models(CLI::App& app, ExitCode& code) {
  auto json = std::make_shared<bool>(false);
  auto csv = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("models", "List the models that the program knows by name");
  command->footer("Example: plimsoll models --json");
  command->add_flag("--json", *json, "machine-readable answer");
  command->add_flag("--csv", *csv, "the table as CSV")->excludes("--json");
  command->callback([json, csv, &code] {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    if (*csv) fmt::print("model,parameters,layers,hidden,heads,kv_heads\n");
    else if (!*json)
      fmt::print("{:<20}{:>16}{:>8}{:>8}{:>8}{:>8}\n", "model", "parameters", "layers", "hidden", "heads", "kv");
    for (const ZooModel& model : built_in_zoo()) {
      const ModelSpec& spec = model.spec;
      if (*json) {
        rows.push_back({{"name", model.name},
                        {"parameters", model.parameters},
                        {"layers", spec.layers},
                        {"hidden", spec.hidden},
                        {"heads", spec.heads},
                        {"kv_heads", spec.kv_heads},
                        {"origin", model.origin}});
      } else if (*csv) {
        fmt::print("{},{},{},{},{},{}\n", csv_field(model.name), model.parameters, spec.layers, spec.hidden, spec.heads,
                   spec.kv_heads);
      } else {
        fmt::print("{:<20}{:>16}{:>8}{:>8}{:>8}{:>8}\n", model.name, model.parameters, spec.layers, spec.hidden,
                   spec.heads, spec.kv_heads);
      }
    }
    if (*json) fmt::print("{}\n", rows.dump(2));
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
