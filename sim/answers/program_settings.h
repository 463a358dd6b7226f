#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/answers/question.h"
#include "sim/parallel/layout_request.h"

namespace plimsoll {

/// What a search may choose of another program's settings. All of them train the same: as many sequences a step.
struct OpenSettings {
  std::int64_t gpus = 1;          ///< of the training
  std::int64_t global_batch = 1;  ///< sequences of a step, of all GPUs
  LayoutRequest said;             ///< what is said of degrees, ZeRO, micro-batch and checkpoints; the rest is chosen
  bool homes = true;              ///< whether it may choose what waits in host memory and on drives
  bool shards_on_host = false;    ///< of FSDP, which is looked at where nothing else fits
};

/// Programs whose tensor ranks and stages are chosen too: there are too many layouts to predict each in full.
bool chooses_layouts(const Question& question);

/// Every setting of one that keeps its degrees, in a fixed order: micro-batches (what divides a data rank's share of a step), checkpoints,
/// and what data ranks share and offload. Settings that differ in their micro-batch alone stand one after another, the smallest first.
std::vector<Question> program_settings(const Question& question, const OpenSettings& open);

/// Sizes of a micro-batch of which a data rank's share of a step is a multiple, or the one that is said.
std::vector<std::int64_t> micro_batch_sizes(std::int64_t share, const OpenSettings& open);

/// The same question under a layout's degrees.
Question under_layout(Question question, const ParallelLayout& layout);

/// What to type for the settings that a search chose, beside what is said: "--dp 8 --zero 3 --batch 4 --accumulate 8 --recompute full".
std::string settings_options(const Question& question, const OpenSettings& open);

}  // namespace plimsoll
