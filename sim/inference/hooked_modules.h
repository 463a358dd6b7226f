#pragma once

#include <cstdint>
#include <vector>

#include "core/model/model_spec.h"

namespace plimsoll {

/// A module of transformers around which hooks run: its own parameters, not those of modules within it.
struct HookedModule {
  std::int64_t block = -1;              ///< -1: of embeddings, the modules around all blocks, and the head
  std::vector<std::size_t> parameters;  ///< into HookedModules::elements, by age
};

/// The modules of a decoder in the order in which a pass enters them.
struct HookedModules {
  std::vector<std::int64_t> elements;  ///< of each parameter; a tied head's are those of the token embedding
  std::vector<HookedModule> order;
};

/// A block is a module with two norms, attention (queries, keys, values and output apart; rotary embeddings are a
/// module, too) and feed-forward products with their activation, which stand in a module of their own where they are
/// gated, as in transformers' OPT and Llama.
HookedModules hooked_modules(const ModelSpec& spec);

}  // namespace plimsoll
