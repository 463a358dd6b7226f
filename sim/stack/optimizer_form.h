#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/model/recipe.h"

namespace plimsoll {

struct StackSetup;

/// Whose rule sees a hidden matrix's gradient through a matrix of few rows or columns.
enum class GradientProjection : std::uint8_t {
  kNone,
  kGalore,      ///< its first singular vectors; the update is projected back (Zhao et al. 2024)
  kApollo,      ///< random numbers; the update scales the gradient's columns (Zhu et al. 2024)
  kApolloMini,  ///< the same of rank 1, which scales the gradient as a whole
};

/// How the optimizers of small GPUs keep the states that PyTorch's would keep as they are.
struct OptimizerForm {
  GradientProjection projection = GradientProjection::kNone;
  std::int64_t rank = 0;
  std::int64_t every = 200;  ///< steps after which projectors are made anew (update_proj_gap of all three packages)
  int bits = 0;              ///< of Adam's moments: 4 (torchao); 0: as the optimizer's name says
  bool paged = false;        ///< in managed memory, which the driver moves to host memory where the GPU's is full (bitsandbytes)

  bool wide_embedding = false;  ///< 8-bit states of embeddings have 32 bits (transformers' Trainer registers every nn.Embedding so)

  bool operator==(const OptimizerForm&) const = default;
  [[nodiscard]] bool projects() const { return projection != GradientProjection::kNone; }
  [[nodiscard]] bool exists() const { return projects() || bits > 0 || paged; }
};

/// "galore:1024", "apollo:256:200" or "apollo-mini": whose projection, its rank, and the steps between new projectors.
Result<OptimizerForm> parse_projection(std::string_view text);

/// ", GaLore of rank 1024, states paged": what describe says of it; empty where there is nothing to say.
std::string describe(const OptimizerForm& form);

/// Refuses by name what no published package does, or what is not modelled of it.
Result<void> check_optimizer_form(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup);

}  // namespace plimsoll
