#include "executor/kernels/experts/gating.h"
#include "executor/kernels/experts/place_tokens.h"
#include "executor/kernels/experts/routing_random.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 32;  // of the tasks

/// Logits of one token: x Wᵀ, in the arithmetic's type whatever the tensors are stored as.
template <typename S>
void logits(const OpShape& s, const S* x, const S* weight, Arithmetic<S>* out) {
  std::fill(out, out + s.experts, Arithmetic<S>(0));
  for_pieces<S>(0, s.inputs, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> of_x, of_weight;
    const auto* token = widened(n, x + at, of_x.values);
    for (std::int64_t e = 0; e < s.experts; ++e) {
      out[e] += loops<Arithmetic<S>>().dot(n, token, widened(n, weight + e * s.inputs + at, of_weight.values));
    }
  });
}

/// Scores of one token: logits, widths of the noise, noisy logits.
template <typename T>
void add_noise(const OpShape& s, std::uint64_t key, std::int64_t token, T* scores) {
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const double noise = s.constant == 0 ? 0 : normal_at(key, static_cast<std::uint64_t>(token * s.experts + e));
    scores[2 * s.experts + e] = scores[e] + static_cast<T>(noise) * softplus(scores[s.experts + e]);
  }
}

template <typename T>
void softmax_in_place(std::int64_t n, T* x) {
  const T most = loops<T>().largest(n, x);
  const T sum = loops<T>().exp_in_place(n, T(1), most, x);
  loops<T>().scale(n, 1 / sum, x);
}

/// Chooses the experts of one token, weighs them, and turns its logits into what the backward pass reads.
template <typename T>
void choose(const OpShape& s, T* scores, std::int32_t* chosen, T* gates) {
  const bool noisy = gating_of(s) == GatingKind::kNoisy;
  const T* by = noisy ? scores + 2 * s.experts : scores;
  choose_largest(s.experts, by, s.choices, chosen);
  weigh_chosen(by, s.choices, chosen, gates);
  if (!noisy) softmax_in_place(s.experts, scores);
  if (gating_of(s) == GatingKind::kSwitch) gates[0] = scores[chosen[0]];
}

}  // namespace

template <typename S>
void router(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const bool noisy = gating_of(s) == GatingKind::kNoisy;
  const std::size_t out = noisy ? 3 : 2;
  const S *x = array<S>(operands, 0), *weight = array<S>(operands, 1), *noise_weight = noisy ? array<S>(operands, 2) : nullptr;
  T *scores = array<T>(operands, out), *gates = array<T>(operands, out + 1);
  const Routing routing(s, array<std::int32_t>(operands, out + 2));
  const std::uint64_t key = draw_key(context, Draw::kNoise);
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t t = rows.begin; t < rows.end; ++t) {
      T* of_token = scores + t * scores_of_token(s);
      logits(s, x + t * s.inputs, weight, of_token);
      if (noisy) logits(s, x + t * s.inputs, noise_weight, of_token + s.experts);
      if (noisy) add_noise(s, key, t, of_token);
      choose(s, of_token, routing.choices + t * s.choices, gates + t * s.choices);
    }
  });
  place_tokens(s, scores, gates, routing, RouterStatistics(s, array<double>(operands, out + 3)), context);
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(router);

}  // namespace plimsoll::kernels
