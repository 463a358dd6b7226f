#include "formats/models/hf_dropout.h"

#include <fmt/format.h>

#include <set>

#include "formats/models/hf_unsupported.h"

namespace plimsoll {

void note_dropout(ConfigFields& fields, ConfigFields::Names names, ModelDescription& found) {
  std::set<double> rates;
  for (const std::string_view name : names) {
    const nlohmann::json* value = fields.find(name);
    if (value == nullptr) continue;
    if (value->is_number()) rates.insert(value->get<double>());
    if (is_off(*value, 0)) continue;
    found.notes.push_back({.text = fmt::format("'{}' is {}, but training here applies no dropout", name, value->dump()), .of_own_plans = true});
  }
  const bool alike = rates.size() == 1 && *rates.begin() >= 0 && *rates.begin() < 1;
  if (alike) found.dropout = *rates.begin();
}

}  // namespace plimsoll
