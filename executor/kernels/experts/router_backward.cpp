#include "core/graph/op_work.h"
#include "executor/kernels/index_check.h"
#include "executor/kernels/experts/balance_loss.h"
#include "executor/kernels/experts/gating.h"
#include "executor/kernels/experts/routing_random.h"
#include "executor/kernels/storage.h"
#include "executor/kernels/worker_pool.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kRows = 32;     // of the tasks
constexpr std::int64_t kColumns = 64;  // of those of the weights' gradient

/// Gradients of one router's logits, and of the widths of its noise.
template <typename T>
struct RouterGradient {
  const OpShape& s;
  const T *scores, *gates, *d_gates;
  Routing routing;
  std::vector<double> balance;  ///< [group][expert]
  std::vector<double> load;     ///< [expert]; empty without a load loss
  std::uint64_t key;            ///< of the noise
  T* d_logits;                  ///< [token][router_outputs]

  [[nodiscard]] const double* balance_at(std::int64_t token) const {
    return balance.data() + token / (s.rows / s.groups) * s.experts;
  }

  /// Of the softmax over the chosen logits, whose weights a token's loss changes with `slope(rank)`.
  template <typename Slope>
  void add_chosen(std::int64_t token, const Slope& slope, T* d) const {
    const T* w = gates + token * s.choices;
    const std::int32_t* chosen = routing.choices + token * s.choices;
    double mean = 0;
    for (std::int64_t i = 0; i < s.choices; ++i) mean += static_cast<double>(w[i]) * slope(i);
    for (std::int64_t i = 0; i < s.choices; ++i) d[chosen[i]] += static_cast<T>(static_cast<double>(w[i]) * (slope(i) - mean));
  }

  /// Of the softmax over all logits.
  template <typename Slope>
  void add_all(std::int64_t token, const Slope& slope, T* d) const {
    const T* p = scores + token * s.experts;
    double mean = 0;
    for (std::int64_t e = 0; e < s.experts; ++e) mean += static_cast<double>(p[e]) * slope(e);
    for (std::int64_t e = 0; e < s.experts; ++e) d[e] += static_cast<T>(static_cast<double>(p[e]) * (slope(e) - mean));
  }

  void softmax_token(std::int64_t t) const {
    T* d = d_logits + t * s.experts;
    std::fill(d, d + s.experts, T(0));
    const double* slopes = balance_at(t);
    const std::int32_t first = routing.choices[t * s.choices];
    if (gating_of(s) == GatingKind::kSwitch) {
      const double of_gate = static_cast<double>(d_gates[t]);
      add_all(t, [&](std::int64_t e) { return slopes[e] + (e == first ? of_gate : 0); }, d);
      return;
    }
    add_chosen(t, [&](std::int64_t rank) { return static_cast<double>(d_gates[t * s.choices + rank]); }, d);
    add_all(t, [&](std::int64_t e) { return slopes[e]; }, d);
  }

  /// With z = (h_e − H_o) / σ_e for the threshold's expert o, the load is Φ(z): adds its part to d h, d H and d σ.
  void add_load(std::int64_t t, T* d_clean, T* d_noisy, T* d_width) const {
    const T* clean = scores + t * scores_of_token(s);
    const T* noisy = clean + 2 * s.experts;
    for (std::int64_t e = 0; e < s.experts; ++e) {
      const std::int64_t other = threshold_expert(s.experts, noisy, s.choices, routing.choices + t * s.choices, e);
      const double width = static_cast<double>(softplus(clean[s.experts + e]));
      const double z = (static_cast<double>(clean[e]) - static_cast<double>(noisy[other])) / width;
      const double slope = load[static_cast<std::size_t>(e)] * standard_normal_density(z) / width;
      d_clean[e] += static_cast<T>(slope);
      d_noisy[other] -= static_cast<T>(slope);
      d_width[e] -= static_cast<T>(slope * z);
    }
  }

  void noisy_token(std::int64_t t) const {
    T* d = d_logits + t * 2 * s.experts;
    const T* raw = scores + t * scores_of_token(s) + s.experts;
    std::vector<T> d_noisy(static_cast<std::size_t>(s.experts), T(0));
    std::fill(d, d + 2 * s.experts, T(0));
    const double* slopes = balance_at(t);
    const std::int32_t* chosen = routing.choices + t * s.choices;
    add_chosen(t, [&](std::int64_t rank) { return static_cast<double>(d_gates[t * s.choices + rank]) + slopes[chosen[rank]]; },
               d_noisy.data());
    if (!load.empty()) add_load(t, d, d_noisy.data(), d + s.experts);
    for (std::int64_t e = 0; e < s.experts; ++e) {
      const T of_noisy = d_noisy[static_cast<std::size_t>(e)];
      const double noise = s.constant == 0 ? 0 : normal_at(key, static_cast<std::uint64_t>(t * s.experts + e));
      d[e] += of_noisy;
      d[s.experts + e] = (d[s.experts + e] + of_noisy * static_cast<T>(noise)) * logistic(raw[e]);
    }
  }
};

/// What the router's matrices and their gradients are; those of the noise behind those of the logits.
template <typename S>
struct Matrices {
  S *weight, *noise_weight;

  /// Row `output` of router_outputs.
  [[nodiscard]] S* row(const OpShape& s, std::int64_t output) const {
    return output < s.experts ? weight + output * s.inputs : noise_weight + (output - s.experts) * s.inputs;
  }
};

/// dx += dh W for one token.
template <typename S>
void add_input_gradient(const OpShape& s, const Arithmetic<S>* d, const Matrices<S>& of, S* dx) {
  for_pieces<S>(0, s.inputs, [&](std::int64_t at, std::int64_t n) {
    PieceScratch<S> sum, row;
    auto* out = opened(n, dx + at, sum.values, true);
    for (std::int64_t i = 0; i < router_outputs(s); ++i) {
      loops<Arithmetic<S>>().scale_add_to(n, d[i], widened(n, of.row(s, i) + at, row.values), out);
    }
    store(n, out, dx + at);
  });
}

/// dW = dhᵀ x for some columns: tiles of kReductionRows tokens are summed first, then the tiles in order.
template <typename S>
void weight_gradient(const OpShape& s, Range columns, const Arithmetic<S>* d_logits, const S* x, const Matrices<S>& to) {
  using T = Arithmetic<S>;
  const std::int64_t outputs = router_outputs(s), width = columns.size();
  std::vector<T> tile(static_cast<std::size_t>(outputs * width)), sum(tile.size(), T(0));
  for (std::int64_t first = 0; first < s.rows; first += kReductionRows) {
    std::fill(tile.begin(), tile.end(), T(0));
    for (std::int64_t t = first; t < std::min(s.rows, first + kReductionRows); ++t) {
      PieceScratch<S> scratch;
      const T* token = widened(width, x + t * s.inputs + columns.begin, scratch.values);
      for (std::int64_t i = 0; i < outputs; ++i) {
        loops<T>().scale_add_to(width, d_logits[t * outputs + i], token, tile.data() + i * width);
      }
    }
    loops<T>().add_to(outputs * width, tile.data(), sum.data());
  }
  for (std::int64_t i = 0; i < outputs; ++i) round_into(width, sum.data() + i * width, to.row(s, i) + columns.begin);
}

/// The loss is the mean over the step's micro-batches, times the loss scale.
std::vector<double> of_step(std::vector<double> slopes, double scale, const LaunchContext& context) {
  for (double& slope : slopes) slope *= scale / static_cast<double>(context.recipe->accumulate);
  return slopes;
}

}  // namespace

template <typename S>
void router_backward(const OpShape& s, Operands operands, const LaunchContext& context) {
  using T = Arithmetic<S>;
  const bool noisy = gating_of(s) == GatingKind::kNoisy;
  const std::size_t in = noisy ? 3 : 2;  // the first operand behind the weights
  check_routing(s, Routing(s, array<std::int32_t>(operands, in + 3)));
  const RouterStatistics statistics(s, array<double>(operands, in + 4));
  const double* slopes = array<double>(operands, in + 5);
  const double scale = slopes[s.experts];
  const RouterGradient<T> gradient{
      .s = s,
      .scores = array<T>(operands, in),
      .gates = array<T>(operands, in + 1),
      .d_gates = array<T>(operands, in + 2),
      .routing = Routing(s, array<std::int32_t>(operands, in + 3)),
      .balance = of_step(balance_slopes(*context.experts, s, statistics, slopes), scale, context),
      .load = of_step(load_slopes(*context.experts, s, statistics), scale, context),
      .key = draw_key(context, Draw::kNoise),
      .d_logits = array<T>(operands, operands.size() - 1)};
  const Matrices<S> weights{array<S>(operands, 1), noisy ? array<S>(operands, 2) : nullptr};
  const Matrices<S> gradients{array<S>(operands, in + 7), noisy ? array<S>(operands, in + 8) : nullptr};
  const S* x = array<S>(operands, 0);
  S* dx = array<S>(operands, in + 6);
  context.pool->run(range_count(s.rows, kRows), [&](std::int64_t task, std::int64_t) {
    const Range rows = range_at(task, s.rows, kRows);
    for (std::int64_t t = rows.begin; t < rows.end; ++t) {
      noisy ? gradient.noisy_token(t) : gradient.softmax_token(t);
      add_input_gradient(s, gradient.d_logits + t * router_outputs(s), weights, dx + t * s.inputs);
    }
  });
  context.pool->run(range_count(s.inputs, kColumns), [&](std::int64_t task, std::int64_t) {
    weight_gradient(s, range_at(task, s.inputs, kColumns), gradient.d_logits, x, gradients);
  });
}

PLIMSOLL_INSTANTIATE_HALF_KERNEL(router_backward);

}  // namespace plimsoll::kernels
