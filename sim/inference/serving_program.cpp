#include "sim/inference/serving_program.h"

#include <array>
#include <utility>

namespace plimsoll {
namespace {

constexpr std::array<std::pair<ServingProgram, std::string_view>, 4> kNames{
    {{ServingProgram::kFlexGen, "flexgen"},
     {ServingProgram::kAccelerate, "accelerate"},
     {ServingProgram::kZeroInference, "zero-inference"},
     {ServingProgram::kGatheringZero, "zero-inference-0.8"}}};

}  // namespace

std::string_view to_text(ServingProgram program) { return kNames[static_cast<std::size_t>(program)].second; }

std::optional<ServingProgram> parse_serving_program(std::string_view name) {
  for (const auto& [program, known] : kNames) {
    if (known == name) return program;
  }
  return std::nullopt;
}

std::vector<std::string> serving_program_names() {
  std::vector<std::string> names;
  for (const auto& [program, name] : kNames) names.emplace_back(name);
  return names;
}

}  // namespace plimsoll
