#include "sim/validation/row_statement.h"

#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<Measure, std::string_view>, 13> kMeasures{{{Measure::kAllocated, "allocated"},
                                                                          {Measure::kReserved, "reserved"},
                                                                          {Measure::kProcess, "process"},
                                                                          {Measure::kDevice, "device"},
                                                                          {Measure::kHost, "host"},
                                                                          {Measure::kFits, "fits"},
                                                                          {Measure::kStep, "step"},
                                                                          {Measure::kClusterStep, "cluster step"},
                                                                          {Measure::kForward, "forward"},
                                                                          {Measure::kBackward, "backward"},
                                                                          {Measure::kUpdate, "update"},
                                                                          {Measure::kLargest, "largest"},
                                                                          {Measure::kLadder, "ladder"}}};

}  // namespace

std::string_view to_text(Measure measure) {
  for (const auto& [known, name] : kMeasures) {
    if (known == measure) return name;
  }
  return "?";
}

std::optional<Measure> parse_measure(std::string_view text) {
  for (const auto& [measure, name] : kMeasures) {
    if (name == text) return measure;
  }
  return std::nullopt;
}

}  // namespace plimsoll
