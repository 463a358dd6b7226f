#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model_spec.h"

namespace plimsoll {

/// Something about a model that its ModelSpec does not carry.
struct ModelNote {
  std::string text;              ///< one sentence for the user
  bool changes_numbers = false;  ///< sizes and speed hold, but a run would compute another function than the original
  bool of_head = false;          ///< about the head alone: nothing to say where a new one is put on
  bool of_own_plans = false;     ///< of no meaning where another program trains

  bool operator==(const ModelNote&) const = default;
};

/// A model as it was found: its spec, what the spec leaves out, and where weights lie, if anywhere.
struct ModelDescription {
  ModelSpec spec;
  std::vector<ModelNote> notes;
  std::filesystem::path weights;  ///< a safetensors file or an index of shards, or empty
  std::optional<double> dropout;  ///< the share that all rates of config.json state alike; nothing where it states none, or several
  std::string stated_type;        ///< of the weights, as config.json has it ("bfloat16"); may be empty
};

}  // namespace plimsoll
