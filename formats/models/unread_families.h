#pragma once

#include <string_view>

namespace plimsoll {

/// What a model_type of Hugging Face that nothing here simulates is: "a state-space model: no attention"; empty for a name that
/// is not known.
std::string_view unread_family(std::string_view model_type);

}  // namespace plimsoll
