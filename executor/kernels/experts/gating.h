#pragma once

#include <cmath>
#include <cstdint>

namespace plimsoll::kernels {

/// ln(1 + eˣ) without overflow.
template <typename T>
T softplus(T x) {
  return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x)));
}

template <typename T>
T logistic(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

inline double standard_normal_density(double z) { return 0.39894228040143267794 * std::exp(-0.5 * z * z); }
inline double standard_normal_cdf(double z) { return 0.5 * std::erfc(-z * 0.70710678118654752440); }

/// The `k` experts with the largest of `scores`, largest first; of equal ones the lower number. `k` is small.
template <typename T>
void choose_largest(std::int64_t experts, const T* scores, std::int64_t k, std::int32_t* chosen) {
  for (std::int64_t rank = 0; rank < k; ++rank) {
    std::int32_t best = -1;
    for (std::int64_t e = 0; e < experts; ++e) {
      bool taken = false;
      for (std::int64_t i = 0; i < rank; ++i) taken = taken || chosen[i] == e;
      if (!taken && (best < 0 || scores[e] > scores[best])) best = static_cast<std::int32_t>(e);
    }
    chosen[rank] = best;
  }
}

/// Softmax over the chosen scores, of which the first is the largest.
template <typename T>
void weigh_chosen(const T* scores, std::int64_t k, const std::int32_t* chosen, T* gates) {
  T sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    gates[i] = std::exp(scores[chosen[i]] - scores[chosen[0]]);
    sum += gates[i];
  }
  for (std::int64_t i = 0; i < k; ++i) gates[i] /= sum;
}

/// The largest noisy logit but those that make expert `e` one of the k: what its own must pass (Shazeer et al. 2017,
/// appendix A: kth_excluding). Returns the expert that holds it.
template <typename T>
std::int64_t threshold_expert(std::int64_t experts, const T* noisy, std::int64_t k, const std::int32_t* chosen, std::int64_t e) {
  bool is_chosen = false;
  for (std::int64_t i = 0; i < k; ++i) is_chosen = is_chosen || chosen[i] == e;
  if (!is_chosen) return chosen[k - 1];
  std::int64_t best = -1;
  for (std::int64_t other = 0; other < experts; ++other) {
    bool among = false;
    for (std::int64_t i = 0; i < k; ++i) among = among || chosen[i] == other;
    if (!among && (best < 0 || noisy[other] > noisy[best])) best = other;
  }
  return best;
}

}  // namespace plimsoll::kernels
