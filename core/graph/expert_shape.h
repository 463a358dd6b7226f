#pragma once

#include <cstdint>

#include "core/graph/op.h"
#include "core/model/experts.h"

// Sizes of what the kernels of a mixture of experts pass to each other. `rows` of their shapes are the micro-batch's tokens;
// experts' rows lie one expert after another without gaps, so that no more of them are needed than tokens are sent. Where ranks
// share the experts, `experts` of the kernels between dispatch and combine are those of one rank, and `terms` the ranks.
namespace plimsoll {

/// Rows that all experts together have at most.
std::int64_t expert_rows(const OpShape& shape);

/// Rows of one expert when all of all ranks have as many, rounded up.
std::int64_t even_rows(const OpShape& shape);

/// Tokens that would be sent if each chose its experts at random: chance makes some experts' share pass their capacity
/// (normal approximation of the binomial distribution). Never more than expert_rows.
double expected_rows(const OpShape& shape);

/// Of a kShareRouting (`experts`: all; `terms`: ranks that share them): the mixture as one of these ranks has it.
OpShape shape_of_share(const OpShape& all);

GatingKind gating_of(const OpShape& router);

/// Columns of a router's products: a logit an expert, and for learnt noise its width.
std::int64_t router_outputs(const OpShape& router);

/// Numbers that a router notes of each token: probabilities, or logits, widths of the noise and noisy logits.
std::int64_t scores_of_token(const OpShape& router);

/// int32 of a routing: first row of each expert and, behind the last, how many rows there are (the extent of the experts'
/// buffers); rows of each group and expert; of each token the experts and their rows (−1: refused); of each row the token's
/// choice (token · choices + rank; −1: no row).
std::int64_t routing_elements(const OpShape& router);

/// Doubles of a router's statistics: of each group and expert how often it was chosen, the sum of its probabilities (noisy: of
/// its gates) and its load; then the share of choices that capacity refused.
std::int64_t statistics_elements(const OpShape& router);

/// Doubles that the routers' gradients need of all blocks together: the slope of Mixtral's auxiliary loss by each expert's
/// probabilities (other gatings: 0), then the loss scale.
inline std::int64_t slopes_elements(const OpShape& router) { return router.experts + 1; }

}  // namespace plimsoll
