#pragma once

#include <string>

#include "sim/answers/best_settings.h"

namespace plimsoll {

/// What to type for the best settings, how many were looked at, and those that need less, as lines below an answer.
std::string settings_text(const SettingsAnswer& settings);
std::string settings_csv(const SettingsAnswer& settings);

/// The answer for the best settings with what was looked at: {"best": …, "options": …, "front": […], …}.
std::string settings_json(const SettingsAnswer& settings);

}  // namespace plimsoll
