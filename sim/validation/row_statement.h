#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_spec.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/published/published_row.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// Which number of a prediction a published value is held against.
enum class Measure : std::uint8_t {
  kAllocated,  ///< bytes of blocks (max_memory_allocated)
  kReserved,   ///< bytes of segments (max_memory_reserved)
  kProcess,    ///< bytes of the process (nvidia-smi)
  kDevice,     ///< bytes of the whole GPU (nvidia-smi)
  kHost,       ///< bytes of the process in host memory
  kFits,       ///< whether it runs at all
  kStep,       ///< seconds of an optimizer step, on one node
  kClusterStep,  ///< the same on several nodes
  kForward,    ///< seconds of its forward passes
  kBackward,   ///< of its backward passes
  kUpdate,     ///< of what comes after them
  kLargest,   ///< parameters of the largest model of a width that fits
  kLadder,     ///< host RAM that runs under falling caps need: of a ladder, never of one row
};

/// A published row in the words of the simulator.
struct RowStatement {
  ModelSpec spec;
  Recipe recipe;
  StackSetup setup;
  GpuEntry gpu;
  Measure measure = Measure::kAllocated;
  double published = 0;  ///< bytes, seconds, parameters, or 1 (it ran) and 0 (it did not)
  std::int64_t copies = 1;  ///< trainings beside one another, of a GPU each, that the source counts together
  bool best_batch = false;  ///< the source tells the best of several micro-batches
};

/// What became of a row: a statement, or why there is none ("kind: detail"), and what its source leaves open.
struct StatedRow {
  std::string family;  ///< whose rows are counted together
  std::optional<RowStatement> statement;
  std::vector<std::string> refusals;
  std::vector<std::string> open;

  /// Everything that decides the number is in the source (docs/validation.md); an error of such a row is the model's.
  [[nodiscard]] bool is_fully_specified() const { return statement.has_value() && open.empty(); }
};

/// Seconds of a step, or of a part of it.
constexpr bool is_time(Measure measure) { return measure >= Measure::kStep && measure <= Measure::kUpdate; }
constexpr bool is_step(Measure measure) { return measure == Measure::kStep || measure == Measure::kClusterStep; }
constexpr bool is_memory(Measure measure) { return measure != Measure::kFits && measure < Measure::kStep; }

std::string_view to_text(Measure measure);
std::optional<Measure> parse_measure(std::string_view text);

}  // namespace plimsoll
