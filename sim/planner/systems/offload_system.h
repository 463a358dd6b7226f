#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/model/recipe.h"
#include "core/plan/strategy.h"

namespace plimsoll {

/// A number of blocks or kernels that a system decides when it knows model and machine.
struct OpenChoice {
  enum class Rule : std::uint8_t {
    kLargest,  ///< the largest with which the plan fits
    kFastest,  ///< the one with the shortest step, of a time that falls and then rises
  };
  std::int64_t Strategy::*field = nullptr;
  Rule rule = Rule::kLargest;
};

/// How many blocks lie between two whose inputs are kept.
enum class Segments : std::uint8_t {
  kAsStated,     ///< as the strategy says
  kSquareRoot,   ///< as many segments as they have blocks (Chen et al. 2016)
};

/// Which outputs of a recomputed block are kept.
enum class KeptOutputs : std::uint8_t {
  kAsStated,
  kProducts,  ///< those of matrix products and attention
};

/// A published system for training beyond a device's memory, in the terms of our strategies.
struct OffloadSystem {
  std::string_view name;
  std::string_view paper;
  std::string_view choices;  ///< what its paper (or its code's defaults) defines
  std::string_view differs;  ///< what our plan does otherwise, and why; empty: nothing that changes time or memory
  Strategy strategy;         ///< activations that go elsewhere are those of all blocks
  Segments segments = Segments::kAsStated;
  KeptOutputs kept = KeptOutputs::kAsStated;
  std::vector<OpenChoice> open;  ///< decided one after another, in this order
  std::int64_t delay = 0;        ///< of the recipe: the only one of these fields that changes numbers
  std::string_view refusal;      ///< why it is not planned at all; empty: it is
};

/// All of them, in the order in which docs/strategies.md tells of them.
const std::vector<OffloadSystem>& offload_systems();

/// The system of that name, or nothing.
const OffloadSystem* find_system(std::string_view name);

/// What a user may call a strategy: our families, then the published systems.
std::vector<std::string> strategy_names();

/// The recipe that a system trains by: numbers change where it delays updates. Refused where it cannot be.
Result<Recipe> recipe_for(const OffloadSystem& system, const Recipe& recipe);

/// The system's choices for a model of so many layers; what it leaves open is 0.
Strategy strategy_for(const OffloadSystem& system, const ModelSpec& spec, const Recipe& recipe);

}  // namespace plimsoll
