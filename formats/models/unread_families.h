#pragma once

#include <string>
#include <string_view>

namespace plimsoll {

/// What a model_type of Hugging Face that nothing here simulates is: "a state-space model: no attention"; empty for a name that
/// is not known.
std::string_view unread_family(std::string_view model_type);

/// What a model's name says of it where it begins with such a family's: "it seems to be a model of speech, which is not
/// simulated" of "openai/whisper-large-v3"; empty for a name that says nothing.
std::string unread_by_name(std::string_view name);

}  // namespace plimsoll
