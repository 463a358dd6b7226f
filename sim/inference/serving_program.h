#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// Whose schedule an inference follows.
enum class ServingProgram : std::uint8_t {
  kFlexGen,        ///< layer by layer, batch by batch (Sheng et al. 2023)
  kAccelerate,     ///< Hugging Face's modules and hooks, of which the placement and the modules' own kernels are known
  kZeroInference,  ///< DeepSpeed's ZeRO-3 hooks from 0.9 on: one rank copies weights straight to where they are used
  kGatheringZero,  ///< the same up to 0.8: one rank, too, gathers them into buffers of their own
};

/// Modules of transformers run, as they were in 2023: logits of every token of a prompt, a cache that is joined anew
/// with every token, keys and values repeated for the heads that share them.
constexpr bool runs_transformers(ServingProgram program) { return program != ServingProgram::kFlexGen; }

/// Hooks around every submodule fetch its weights and those of the next ones, and let them go.
constexpr bool has_fetching_hooks(ServingProgram program) {
  return program == ServingProgram::kZeroInference || program == ServingProgram::kGatheringZero;
}

/// As options and rows name it: "flexgen", "accelerate", "zero-inference", "zero-inference-0.8".
std::string_view to_text(ServingProgram program);
std::optional<ServingProgram> parse_serving_program(std::string_view name);
std::vector<std::string> serving_program_names();

}  // namespace plimsoll
