#pragma once

#include <cstdint>

#include "executor/kernels/half_types.h"

namespace plimsoll {

/// Numbers of one update, the same for all elements; each rule reads those that it needs.
template <typename T>
struct UpdateStep {
  T beta1 = 0;
  T beta2 = 0;
  T step_size = 0;     ///< (learning rate, where nothing else scales the step) / (1 − beta1ᵗ)
  T inverse_root = 0;  ///< 1 / √(1 − beta2ᵗ)
  T epsilon = 0;
  T keep = 1;      ///< 1 − learning rate · weight decay, or 1 where nothing decays
  T factor = 1;    ///< of the gradient, for clipping
  T rate = 0;      ///< by which the direction is multiplied
  T decay = 0;     ///< weight decay that joins the gradient or the direction; 0 where nothing decays
  T momentum = 0;
  T ahead = 1;     ///< of the new velocity in the direction: the momentum with Nesterov's rule, else 1
  T direct = 0;    ///< of the gradient in the direction: 1 with Nesterov's rule, else 0
};

/// Elements that share a scale in an 8-bit moment, at most.
inline constexpr std::int64_t kQuantizedElements = 256;

/// One block of an 8-bit moment: value = scale · values[code].
struct QuantizedBlock {
  const float* values = nullptr;  ///< the 256 that codes stand for, ascending
  const float* bounds = nullptr;  ///< the 255 midpoints between them
  const std::uint8_t* codes = nullptr;
  const float* scale = nullptr;
  std::uint8_t* new_codes = nullptr;  ///< may be `codes`
  float* new_scale = nullptr;
};

/// What one row of a norm's backward pass reads and writes; `weight_sum` and `bias_sum` are added to.
template <typename T>
struct NormBackwardRow {
  const T* dy = nullptr;
  const T* x = nullptr;
  const T* weight = nullptr;
  T offset = 0;  ///< added to the weight
  T mean = 0;
  T inverse_deviation = 0;
  bool centred = true;  ///< LayerNorm subtracts the mean, RMSNorm does not
  bool adds = false;    ///< dx is added to what stands there
  T* dx = nullptr;  ///< may be dy
  T* weight_sum = nullptr;
  T* bias_sum = nullptr;  ///< may be null
};

/// The inner loops of the kernels over rows of `n` elements, compiled for one instruction set. Each is a pure function
/// of its arguments' values, so the same machine always gives the same bits; another instruction set may round
/// otherwise.
template <typename T>
struct Loops {
  using Count = std::int64_t;

  void (*add)(Count n, const T* a, const T* b, T* y);
  void (*add_to)(Count n, const T* x, T* y);  ///< y += x
  void (*scale)(Count n, T factor, T* x);     ///< x *= factor
  void (*scale_add_to)(Count n, T factor, const T* x, T* y);  ///< y += factor · x
  T (*dot)(Count n, const T* a, const T* b);
  double (*squared_sum)(Count n, const T* x);          ///< in double
  T (*largest)(Count n, const T* x);                   ///< n ≥ 1
  T (*exp_in_place)(Count n, T scale, T shift, T* x);  ///< x = exp(scale · x − shift); returns the sum
  T (*exp_sum)(Count n, T shift, const T* x);          ///< Σ exp(x − shift)
  void (*score_gradient)(Count n, T scale, T dot, const T* p, T* dp);  ///< dp = p (dp − dot) scale

  void (*layer_norm)(Count n, const T* x, const T* weight, const T* bias, T epsilon, T* y, T* statistics);
  void (*rms_norm)(Count n, const T* x, const T* weight, T offset, T epsilon, T* y, T* statistics);  ///< weight + offset
  void (*norm_backward)(Count n, const NormBackwardRow<T>& row);

  void (*rotate)(Count n, const T* cosine, const T* sine, T sign, T* first, T* second);

  void (*gelu)(Count n, const T* x, T* y);
  void (*gelu_backward)(Count n, const T* x, const T* dy, T* dx);
  void (*gelu_tanh)(Count n, const T* x, T* y);
  void (*gelu_tanh_backward)(Count n, const T* x, const T* dy, T* dx);
  void (*tanh)(Count n, const T* x, T* y);
  void (*tanh_backward)(Count n, const T* x, const T* dy, T* dx);
  void (*relu)(Count n, const T* x, T* y);
  void (*relu_backward)(Count n, const T* x, const T* dy, T* dx);
  void (*squared_relu)(Count n, const T* x, T* y);
  void (*squared_relu_backward)(Count n, const T* x, const T* dy, T* dx);
  void (*swiglu)(Count n, const T* x, T* y);                         ///< x holds n gates, then n values
  void (*swiglu_backward)(Count n, const T* x, const T* dy, T* dx);  ///< x and dx hold 2 n elements
  void (*geglu_tanh)(Count n, const T* x, T* y);                     ///< as swiglu, with GELU by tanh
  void (*geglu_tanh_backward)(Count n, const T* x, const T* dy, T* dx);

  // Updates; the new values may lie where the old ones do.
  using Step = UpdateStep<T>;
  void (*sgd)(Count n, const Step& step, const T* gradient, const T* weights, T* new_weights);
  void (*momentum)(Count n, const Step& step, const T* gradient, const T* weights, const T* velocity, T* new_weights,
                   T* new_velocity);
  void (*lars)(Count n, const Step& step, const T* gradient, const T* weights, const T* velocity, T* new_weights,
               T* new_velocity);  ///< the velocity is in units of weights, and `rate` the tensor's own
  void (*lion)(Count n, const Step& step, const T* gradient, const T* weights, const T* m, T* new_weights, T* new_m);
  void (*adam)(Count n, const Step& step, const T* gradient, const T* weights, const T* m, const T* v, T* new_weights,
               T* new_m, T* new_v);
  void (*adamw)(Count n, const Step& step, const T* gradient, const T* weights, const T* m, const T* v, T* new_weights,
                T* new_m, T* new_v);
  void (*lamb_moments)(Count n, const Step& step, const T* gradient, const T* weights, const T* m, const T* v, T* new_m,
                       T* new_v, double* sums);  ///< squares of weights and of directions
  void (*lamb_weights)(Count n, const Step& step, const T* weights, const T* m, const T* v, T* new_weights);
  void (*add_squares)(Count n, const T* x, double* sums);
  void (*average_squares)(Count n, const Step& step, const T* gradient, const T* v, T* new_v);
  double (*factored_sum)(Count n, const Step& step, T row, const T* gradient, const T* columns);  ///< of squared directions
  void (*factored_weights)(Count n, const Step& step, T row, const T* gradient, const T* columns, const T* weights,
                           T* new_weights);
  T (*sm3_row)(Count n, const Step& step, T row, const T* gradient, const T* columns, const T* weights,
               T* new_weights);  ///< the row's new sum
  void (*sm3_columns)(Count n, T factor, T row, const T* gradient, const T* columns, T* most);
  void (*sm3_vector)(Count n, const Step& step, const T* gradient, const T* sums, const T* weights, T* new_sums,
                     T* new_weights);
  void (*adam8bit)(Count n, const Step& step, const T* gradient, const T* weights, const QuantizedBlock& m,
                   const QuantizedBlock& v, T* new_weights);  ///< one block
};

/// Between a type of two bytes and fp32; the same bits in every variant.
template <typename S>
struct Conversions {
  void (*widen)(std::int64_t n, const S* x, float* y);
  void (*round)(std::int64_t n, const float* x, S* y);  ///< to nearest, ties to even
};

/// The loops for the best instruction set that this processor has: x86-64 (baseline), v3 (AVX2) or v4 (AVX-512).
template <typename T>
const Loops<T>& loops();
template <typename S>
const Conversions<S>& conversions();

/// What best_instruction_set() is in words: which variant `loops` returns here; numbers may differ between variants.
const char* loops_variant();

}  // namespace plimsoll
