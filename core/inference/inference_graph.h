#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace plimsoll {

/// One pass of a decoder over some tokens of each sequence: its prompt (prefill), or one token behind those whose keys and
/// values are cached (decode). The logits are those of each sequence's last token, or of all.
struct InferencePass {
  std::int64_t sequences = 1;
  std::int64_t new_tokens = 1;  ///< of each sequence
  std::int64_t cached = 0;      ///< tokens before them
  Precision precision = Precision::kFp16Mixed;
  bool all_logits = false;  ///< of every new token, not of the last ones alone
};

/// Refuses, by name, models that write no next token or of which the blocks' kernels are not known.
Result<void> check_writes_tokens(const ModelSpec& spec);

/// The forward half of the training graph, with attention that also reads what is cached. Of an attention op, `positions` is
/// the number of cached tokens and `inputs` the window (0: none).
Graph build_inference_graph(const ModelSpec& spec, const InferencePass& pass);

}  // namespace plimsoll
