#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

/// "AMD EPYC, 2 threads": the calibration name of a CPU on which so many workers compute.
std::string cpu_calibration_name(std::string_view model, std::int64_t workers);

/// The workers that such a name states; 1 for any other name.
std::int64_t workers_of(std::string_view calibration_name);

}  // namespace plimsoll
