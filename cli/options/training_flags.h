#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/adapter_flags.h"
#include "core/base/result.h"
#include "core/model/recipe.h"
#include "formats/models/model_description.h"

namespace plimsoll {

/// The options that shape a Recipe, as typed; what is left out gets a default that is printed.
struct TrainingFlags {
  std::int64_t batch = 1;
  std::int64_t accumulate = 1;
  std::optional<std::int64_t> global_batch;
  std::int64_t data_ranks = 1;  ///< that share the global batch; not typed: another program's setup says it
  std::optional<std::int64_t> sequence;
  std::optional<std::int64_t> target_sequence;  ///< tokens that an encoder–decoder's decoder reads; none: as many
  std::int64_t classes = 0;  ///< of a new head; 0: the model's own head stays
  std::optional<std::int64_t> image;  ///< pixels of an image's height and width; none: as the model says
  std::string precision;
  std::string loss_scale = "dynamic";
  std::string optimizer = "adamw";
  std::optional<double> learning_rate;  ///< what is not given is the optimizer's own
  std::string schedule = "constant";
  std::int64_t warmup = 0;
  std::optional<double> weight_decay;
  std::vector<double> betas;
  std::optional<double> epsilon;
  std::optional<double> momentum;
  bool nesterov = false;
  std::optional<double> trust;
  bool absolute_step = false;
  double clip = 1.0;
  std::uint64_t seed = 1;
  AdapterFlags adapter;
  bool own_plan = true;  ///< not another program's, whose experts are told otherwise
};

/// Whether a sample of the model's is an image, not a sequence of tokens.
bool is_of_images(const ModelSpec& spec);

/// Batch, sequence, precision, optimizer, clipping and adapters: what decides memory and time.
void add_shape_flags(CLI::App& command, TrainingFlags& flags);
/// Learning rate, schedule and the rest: what decides numbers only.
void add_number_flags(CLI::App& command, TrainingFlags& flags);

/// The model as it is named, or with the new head and the size of images that the flags ask for. What a folder lacks for its own head is then of no
/// interest.
Result<ModelDescription> describe_model(const std::string& name, const TrainingFlags& flags);

/// The recipe that the flags mean for a model. `default_precision` is used, and noted, when none was given.
Result<Recipe> make_recipe(const TrainingFlags& flags, const ModelSpec& spec, Precision default_precision,
                           const std::string& precision_reason, std::vector<std::string>& notes);

/// A step in words: "8 x 4 sequences of 1024 tokens a step, adamw, clip 1".
std::string step_text(const ModelSpec& spec, const Recipe& recipe);

/// What is assumed of clipping by plans of ours.
void note_clipping(const Recipe& recipe, std::vector<std::string>& notes);

}  // namespace plimsoll
