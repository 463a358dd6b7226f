#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// How a router chooses a token's experts, what their outputs are weighted with, and what keeps their loads even.
enum class GatingKind : std::uint8_t {
  kTopK,    ///< the k largest logits, weighted with their softmax (Jiang et al. 2024, Mixtral); loss of Hugging Face's Mixtral
  kSwitch,  ///< the largest probability, which is the weight; loss α·E·Σ f·P (Fedus et al. 2021, Switch Transformers)
  kGShard,  ///< two, the second drawn with twice its weight; loss Σ (c/S)·m / E (Lepikhin et al. 2020, GShard, algorithm 1)
  kNoisy,   ///< k of logits with learnt noise; squared variations of importance and load (Shazeer et al. 2017)
};

/// A mixture of experts in place of the feed-forward layer of every n-th block; nothing when `count` is 0.
struct ExpertSpec {
  std::int64_t count = 0;      ///< experts of a block
  std::int64_t per_token = 0;  ///< experts that a token passes through
  GatingKind gating = GatingKind::kTopK;
  std::int64_t every = 1;      ///< blocks n − 1, 2n − 1, … have experts, the others a dense layer
  std::int64_t width = 0;      ///< of an expert; 0: as wide as the dense layer
  double capacity = 0;         ///< tokens that an expert takes of a group, in shares of an even distribution; 0: all that come
  std::int64_t groups = 1;     ///< parts of a micro-batch, each with capacities and balance of its own
  double balance = 0;          ///< coefficient of the auxiliary loss (noisy: of the importance loss)
  double load = 0;             ///< coefficient of the noisy gating's load loss
  double dropout = 0;          ///< share of an expert's inner activations that training sets to 0
  std::int64_t dense_first = 0;   ///< blocks at the beginning that have no experts
  std::int64_t shared_width = 0;  ///< of the expert that every token passes through; 0: there is none
  bool shared_gate = false;       ///< which a sigmoid of its own weights, a number a token
  bool router_bias = false;       ///< logits of the router have learnt biases
  bool plain_gates = false;       ///< weights of the chosen are their shares of all experts: they do not sum to 1
  bool sigmoid_scores = false;    ///< the router scores each expert by a sigmoid by itself
  // Of the part of a model that a rank has (expert_slice.h):
  std::int64_t shared = 1;     ///< ranks that divide the experts among them; each has all routers
  std::int64_t share = 0;      ///< which of these

  /// Experts whose weights are here.
  [[nodiscard]] std::int64_t held() const { return count / shared; }
  bool operator==(const ExpertSpec&) const = default;
};

/// What the papers take for a gating: experts a token, capacity and coefficients.
/// The number of experts stays 0.
ExpertSpec gating_defaults(GatingKind gating);

/// Checks counts and ranges; the message names what is wrong.
Result<void> validate(const ExpertSpec& experts);

/// Tokens that an expert takes at most of a group of so many: capacity · per_token · group / count, rounded up; 0: no bound.
std::int64_t capacity_of(const ExpertSpec& experts, std::int64_t group_tokens);

std::string_view to_text(GatingKind gating);
std::optional<GatingKind> parse_gating(std::string_view text);

/// " experts=8 per_token=2 …": every field; empty without experts.
std::string canonical_text(const ExpertSpec& experts);

}  // namespace plimsoll
