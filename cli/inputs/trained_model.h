#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "executor/generation/decoder.h"

namespace plimsoll {

/// A model with weights, as a user names it: a Hugging Face folder, a safetensors file, a run file or its checkpoint.
struct TrainedModel {
  ModelSpec spec;
  std::string weights;           ///< the file or folder that they are read from
  std::filesystem::path folder;  ///< where a tokenizer may lie beside them
  Decoder::LoadWeights load;
};

/// Errors: no such file, no weights in it, or a model that computes another function than its original here.
Result<TrainedModel> find_trained_model(const std::string& name);

}  // namespace plimsoll
