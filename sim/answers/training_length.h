#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "formats/training/data_sets.h"

namespace plimsoll {

/// How long a training is, as typed.
struct LengthRequest {
  std::string tokens;            ///< "300B", "chinchilla", "chinchilla:40" or a data set
  std::string samples;           ///< "1.2M" or a data set
  std::optional<double> epochs;  ///< over that many tokens or samples

  [[nodiscard]] bool is_given() const { return !tokens.empty() || !samples.empty() || epochs.has_value(); }
};

/// How long samples are.
struct SampleTokens {
  double each = 0;      ///< of one sample, on average; 0: images
  bool stated = false;  ///< by lengths; otherwise each is taken to be as long as the recipe says
};

/// How much a model is to read.
struct TrainingLength {
  double samples = 0;  ///< sequences or images, of all epochs
  double tokens = 0;   ///< 0 for a model that reads images
  double set_samples = 0;           ///< of one epoch: what has to be prepared
  std::optional<double> epochs;     ///< where the data set's size is known
  DataContent content = DataContent::kText;
  double stored_bytes = 0;          ///< of one sample as the data set has it
  double prepared_bytes = 0;        ///< of one sample as the model reads it
  std::vector<std::string> notes;   ///< where sizes are from
};

/// "300B", "1.4T", "2.5e9", "1,281,167" as a number above 0.
std::optional<double> parse_count(std::string_view text);

/// Whether it is trained on images, not on tokens.
bool reads_pictures(const ModelSpec& spec);

/// What the request means for a model that reads samples of so many tokens. A name that is neither a number nor a data set is refused with
/// the nearest.
Result<TrainingLength> training_length(const LengthRequest& request, const ModelSpec& spec, SampleTokens sample);

}  // namespace plimsoll
