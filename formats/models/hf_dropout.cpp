#include "formats/models/hf_dropout.h"

#include <fmt/format.h>

#include "formats/models/hf_unsupported.h"

namespace plimsoll {

void note_dropout(ConfigFields& fields, ConfigFields::Names names, ModelDescription& found) {
  for (const std::string_view name : names) {
    const nlohmann::json* value = fields.find(name);
    if (value == nullptr || is_off(*value, 0)) continue;
    found.notes.push_back({.text = fmt::format("'{}' is {}, but training here applies no dropout", name, value->dump())});
  }
}

}  // namespace plimsoll
