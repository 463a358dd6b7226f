#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/models/model_zoo.h"

namespace plimsoll {

/// A zoo model under another of its names on Hugging Face's hub.
struct HubMatch {
  ZooModel model;
  std::string note;  ///< what was assumed, as a sentence for the user
};

/// The zoo model that is left of a hub's name when organization, kind of fine-tune ("-Instruct", "-it", "-2507") and stored type
/// ("-bnb-4bit", "-GGUF") are taken off, from its end and then from anywhere. Nothing when none or several are left.
std::optional<HubMatch> match_hub_name(std::string_view name);

}  // namespace plimsoll
