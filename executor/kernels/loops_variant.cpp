// Compiled once for each instruction set, with PLIMSOLL_LOOPS naming the table that it defines. Everything else in here
// has internal linkage, and no library template is instantiated: code for one instruction set must never be linked into
// another's.
#include "executor/kernels/half_conversions.h"
#include "executor/kernels/loops.h"
#include "executor/kernels/update_loops.h"
#include "executor/kernels/vector_math.h"

namespace plimsoll {
namespace {

using Count = std::int64_t;

template <typename T>
void add(Count n, const T* a, const T* b, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

template <typename T>
void add_to(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] += x[i];
}

template <typename T>
void scale(Count n, T factor, T* x) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) x[i] *= factor;
}

template <typename T>
void scale_add_to(Count n, T factor, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] += factor * x[i];
}

template <typename T>
T dot(Count n, const T* a, const T* b) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Count i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

template <typename T>
double squared_sum(Count n, const T* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Count i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

template <typename T>
T largest(Count n, const T* x) {
  T most = x[0];
#pragma omp simd reduction(max : most)
  for (Count i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

template <typename T>
T exp_in_place(Count n, T factor, T shift, T* x) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Count i = 0; i < n; ++i) {
    x[i] = exponential(factor * x[i] - shift);
    sum += x[i];
  }
  return sum;
}

template <typename T>
T exp_sum(Count n, T shift, const T* x) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Count i = 0; i < n; ++i) sum += exponential(x[i] - shift);
  return sum;
}

template <typename T>
void score_gradient(Count n, T factor, T row_dot, const T* p, T* dp) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) dp[i] = p[i] * (dp[i] - row_dot) * factor;
}

template <typename T>
void layer_norm(Count n, const T* x, const T* weight, const T* bias, T epsilon, T* y, T* statistics) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (Count i = 0; i < n; ++i) sum += x[i];
  const T mean = sum / static_cast<T>(n);
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (Count i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const T inverse = 1 / std::sqrt(squares / static_cast<T>(n) + epsilon);
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = (x[i] - mean) * inverse * weight[i] + bias[i];
  statistics[0] = mean;
  statistics[1] = inverse;
}

template <typename T>
void rms_norm(Count n, const T* x, const T* weight, T offset, T epsilon, T* y, T* statistics) {
  const T inverse = 1 / std::sqrt(dot(n, x, x) / static_cast<T>(n) + epsilon);
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] * inverse * (weight[i] + offset);
  statistics[0] = 0;
  statistics[1] = inverse;
}

/// With x̂ = (x − mean) · s and g = dy · w (w with its offset): dx = s (g − mean(g) − x̂ · mean(g x̂)); RMSNorm has no mean(g).
template <typename T>
void norm_backward(Count n, const NormBackwardRow<T>& row) {
  const T *dy = row.dy, *x = row.x, *weight = row.weight;
  const T mean = row.mean, inverse = row.inverse_deviation, offset = row.offset;
  T sum = 0, sum_x = 0;
#pragma omp simd reduction(+ : sum, sum_x)
  for (Count i = 0; i < n; ++i) {
    const T g = dy[i] * (weight[i] + offset);
    sum += g;
    sum_x += g * ((x[i] - mean) * inverse);
  }
  const T mean_g = row.centred ? sum / static_cast<T>(n) : T(0);
  const T mean_gx = sum_x / static_cast<T>(n);
  T *dx = row.dx, *weight_sum = row.weight_sum, *bias_sum = row.bias_sum;
  const bool adds = row.adds;
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T centred = (x[i] - mean) * inverse, d = dy[i];
    const T gradient = inverse * (d * (weight[i] + offset) - mean_g - centred * mean_gx);
    dx[i] = adds ? dx[i] + gradient : gradient;
    weight_sum[i] += d * centred;
  }
  if (bias_sum != nullptr) add_to(n, dy, bias_sum);
}

template <typename T>
void rotate(Count n, const T* cosine, const T* sine, T sign, T* first, T* second) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T a = first[i], b = second[i], s = sign * sine[i];
    first[i] = a * cosine[i] - b * s;
    second[i] = b * cosine[i] + a * s;
  }
}

template <typename T>
inline T tangent(T x) {
  return 1 - 2 / (1 + exponential(2 * x));
}

template <typename T>
void hyperbolic_tangent(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = tangent(x[i]);
}

template <typename T>
void hyperbolic_tangent_backward(Count n, const T* x, const T* dy, T* dx) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T y = tangent(x[i]);
    dx[i] = dy[i] * (1 - y * y);
  }
}

template <typename T>
void gelu(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] * normal_cdf(x[i]);
}

template <typename T>
void gelu_backward(Count n, const T* x, const T* dy, T* dx) {
  const T kDensity = static_cast<T>(0.39894228040143267794);  // 1 / √(2π)
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T density = kDensity * exponential(T(-0.5) * x[i] * x[i]);
    dx[i] = dy[i] * (normal_cdf(x[i]) + x[i] * density);
  }
}

// GELU with tanh: ½ x (1 + tanh u) = x σ(2u), u = √(2/π) (x + 0.044715 x³); the sigmoid form does not cancel.
template <typename T>
inline T twice_gelu_argument(T x) {
  return x * (static_cast<T>(1.5957691216057307118) + static_cast<T>(1.5957691216057307118 * 0.044715) * x * x);
}

template <typename T>
inline T twice_gelu_slope(T x) {
  return static_cast<T>(1.5957691216057307118) + static_cast<T>(3 * 1.5957691216057307118 * 0.044715) * x * x;
}

template <typename T>
void gelu_tanh(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] * sigmoid(twice_gelu_argument(x[i]));
}

template <typename T>
void gelu_tanh_backward(Count n, const T* x, const T* dy, T* dx) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T s = sigmoid(twice_gelu_argument(x[i]));
    dx[i] = dy[i] * (s + x[i] * s * (1 - s) * twice_gelu_slope(x[i]));
  }
}

template <typename T>
void relu(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] : 0;
}

template <typename T>
void relu_backward(Count n, const T* x, const T* dy, T* dx) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) dx[i] = x[i] > 0 ? dy[i] : 0;
}

template <typename T>
void squared_relu(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] > 0 ? x[i] * x[i] : 0;
}

template <typename T>
void squared_relu_backward(Count n, const T* x, const T* dy, T* dx) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) dx[i] = x[i] > 0 ? 2 * x[i] * dy[i] : 0;
}

template <typename T>
void swiglu(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] * sigmoid(x[i]) * x[n + i];
}

template <typename T>
void swiglu_backward(Count n, const T* x, const T* dy, T* dx) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T gate = x[i], s = sigmoid(gate), d = dy[i];
    dx[i] = d * x[n + i] * s * (1 + gate * (1 - s));
    dx[n + i] = d * gate * s;
  }
}

template <typename T>
void geglu_tanh(Count n, const T* x, T* y) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) y[i] = x[i] * sigmoid(twice_gelu_argument(x[i])) * x[n + i];
}

template <typename T>
void geglu_tanh_backward(Count n, const T* x, const T* dy, T* dx) {
#pragma omp simd
  for (Count i = 0; i < n; ++i) {
    const T gate = x[i], s = sigmoid(twice_gelu_argument(gate)), d = dy[i];
    dx[i] = d * x[n + i] * (s + gate * s * (1 - s) * twice_gelu_slope(gate));
    dx[n + i] = d * gate * s;
  }
}

template <typename T>
constexpr Loops<T> kAll{
    .add = add<T>,
    .add_to = add_to<T>,
    .scale = scale<T>,
    .scale_add_to = scale_add_to<T>,
    .dot = dot<T>,
    .squared_sum = squared_sum<T>,
    .largest = largest<T>,
    .exp_in_place = exp_in_place<T>,
    .exp_sum = exp_sum<T>,
    .score_gradient = score_gradient<T>,
    .layer_norm = layer_norm<T>,
    .rms_norm = rms_norm<T>,
    .norm_backward = norm_backward<T>,
    .rotate = rotate<T>,
    .gelu = gelu<T>,
    .gelu_backward = gelu_backward<T>,
    .gelu_tanh = gelu_tanh<T>,
    .gelu_tanh_backward = gelu_tanh_backward<T>,
    .tanh = hyperbolic_tangent<T>,
    .tanh_backward = hyperbolic_tangent_backward<T>,
    .relu = relu<T>,
    .relu_backward = relu_backward<T>,
    .squared_relu = squared_relu<T>,
    .squared_relu_backward = squared_relu_backward<T>,
    .swiglu = swiglu<T>,
    .swiglu_backward = swiglu_backward<T>,
    .geglu_tanh = geglu_tanh<T>,
    .geglu_tanh_backward = geglu_tanh_backward<T>,
    .sgd = sgd<T>,
    .momentum = momentum<T>,
    .lars = lars<T>,
    .lion = lion<T>,
    .adam = adam<T>,
    .adamw = adamw<T>,
    .lamb_moments = lamb_moments<T>,
    .lamb_weights = lamb_weights<T>,
    .add_squares = add_squares<T>,
    .average_squares = average_squares<T>,
    .factored_sum = factored_sum<T>,
    .factored_weights = factored_weights<T>,
    .sm3_row = sm3_row<T>,
    .sm3_columns = sm3_columns<T>,
    .sm3_vector = sm3_vector<T>,
    .adam8bit = adam8bit<T>,
};

}  // namespace

struct PLIMSOLL_LOOPS {
  static const Loops<float> kFloat;
  static const Loops<double> kDouble;
  static const Conversions<Bf16> kBf16;
  static const Conversions<Fp16> kFp16;
};
const Loops<float> PLIMSOLL_LOOPS::kFloat = kAll<float>;
const Loops<double> PLIMSOLL_LOOPS::kDouble = kAll<double>;
const Conversions<Bf16> PLIMSOLL_LOOPS::kBf16{.widen = widen<Bf16>, .round = round<Bf16>};
const Conversions<Fp16> PLIMSOLL_LOOPS::kFp16{.widen = widen<Fp16>, .round = round<Fp16>};

}  // namespace plimsoll
