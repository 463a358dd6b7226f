#pragma once

#include <string_view>

namespace plimsoll {

/// The text of a file under data/published or of data/calibration/fitted_constants.csv, named relative to the repository's
/// root; empty when it is not one of those that the build embeds.
std::string_view embedded_published(std::string_view name);

}  // namespace plimsoll
