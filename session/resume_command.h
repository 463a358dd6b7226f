#pragma once

#include <string>
#include <utility>
#include <vector>

#include "session/run_session.h"

namespace plimsoll {

/// The command that goes on with a run after it was stopped, with the options that it was started with. `instead`: options with
/// the values that take the place of the typed ones, or are added.
std::string resume_command(const RunRequest& request, const std::vector<std::pair<std::string, std::string>>& instead = {});

/// "SIZE:READ,WRITE" for --ssd: the size that was typed or used, with those rates to three digits.
std::string ssd_option(const RunRequest& request, const ExpectedRates& rates);

/// The warning's text; to a drive that became slow belongs the command that plans for what it reaches.
std::string with_offer(const RunRequest& request, const RunWarning& warning);

}  // namespace plimsoll
