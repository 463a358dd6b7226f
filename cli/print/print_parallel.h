#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/training/training_answer.h"
#include "sim/parallel/parallel_answer.h"
#include "sim/parallel/predict_parallel.h"
#include "sim/parallel/search_layouts.h"

namespace plimsoll {

/// An answer for people, with that of the whole training where its length was given.
std::string parallel_text(const ParallelQuestion& question, const ParallelAnswer& answer, const std::vector<std::string>& notes,
                          const std::optional<TrainingAnswer>& training = {});

/// An answer for programs: the keys of `fit --json`, all ranks of the pipeline under "ranks", the layout under
/// "parallel".
std::string parallel_json(const ParallelQuestion& question, const ParallelAnswer& answer);

/// The same with the front of a search under "alternatives" and its counts under "search".
std::string searched_json(const ParallelQuestion& question, const ParallelAnswer& answer, const LayoutSearch& search,
                          const std::optional<TrainingAnswer>& training);

}  // namespace plimsoll
