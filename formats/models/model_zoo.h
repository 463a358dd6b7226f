#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// A well-known model.
struct ZooModel {
  std::string name;
  std::vector<std::string> aliases;
  ModelSpec spec;
  std::int64_t parameters = 0;   ///< the exact count, equal to parameter_count(spec)
  std::string published;         ///< the count as its authors state it, "6.7B"
  std::vector<ModelNote> notes;  ///< what the spec leaves out
  std::string origin;            ///< where the sizes were read
};

/// Reads the rows of a zoo file. A row whose stated count of parameters is not that of its shape is an error, and so is a
/// name or alias given twice.
Result<std::vector<ZooModel>> parse_model_zoo(std::string_view text, std::string_view where);

/// The models that the program knows by name, in the file's order (families, then sizes).
const std::vector<ZooModel>& built_in_zoo();

/// The model that `name` or an alias names, ignoring case, spaces, hyphens and underscores; unknown names suggest the nearest.
Result<ZooModel> find_in_zoo(std::string_view name);

}  // namespace plimsoll
