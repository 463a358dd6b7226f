#pragma once
// The inner loops of weight updates: a part of loops_variant.cpp, which compiles them once for each instruction set. As
// there, everything has internal linkage. docs/optimizers.md has the rules. Each element is read before it is written, so
// new values may lie where the old ones do.
#include <cmath>

#include "executor/kernels/loops.h"

namespace plimsoll {
namespace {

/// The gradient with its part of L2 regularisation.
template <typename T>
inline T regularized(const UpdateStep<T>& s, T gradient, T weight) {
  return gradient * s.factor + s.decay * weight;
}

template <typename T>
void sgd(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, T* new_weights) {
  const UpdateStep<T> s = step;  // a copy: the loop's stores cannot alias it
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) new_weights[i] = weights[i] - s.rate * regularized(s, gradient[i], weights[i]);
}

template <typename T>
void momentum(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const T* velocity,
              T* new_weights, T* new_velocity) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = regularized(s, gradient[i], weights[i]);
    const T next = s.momentum * velocity[i] + g;
    new_velocity[i] = next;
    new_weights[i] = weights[i] - s.rate * (s.ahead * next + s.direct * g);
  }
}

template <typename T>
void lars(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const T* velocity, T* new_weights,
          T* new_velocity) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T next = s.momentum * velocity[i] + s.rate * regularized(s, gradient[i], weights[i]);
    new_velocity[i] = next;
    new_weights[i] = weights[i] - next;
  }
}

template <typename T>
void lion(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const T* m, T* new_weights,
          T* new_m) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    const T mixed = s.beta1 * m[i] + (1 - s.beta1) * g;
    const T sign = mixed > 0 ? T(1) : mixed < 0 ? T(-1) : T(0);
    new_m[i] = s.beta2 * m[i] + (1 - s.beta2) * g;
    new_weights[i] = s.keep * weights[i] - s.rate * sign;
  }
}

template <typename T>
void adam(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const T* m, const T* v,
          T* new_weights, T* new_m, T* new_v) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = regularized(s, gradient[i], weights[i]);
    const T first = s.beta1 * m[i] + (1 - s.beta1) * g;
    const T second = s.beta2 * v[i] + (1 - s.beta2) * g * g;
    new_m[i] = first;
    new_v[i] = second;
    new_weights[i] = weights[i] - s.step_size * first / (std::sqrt(second) * s.inverse_root + s.epsilon);
  }
}

template <typename T>
void adamw(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const T* m, const T* v,
           T* new_weights, T* new_m, T* new_v) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    const T first = s.beta1 * m[i] + (1 - s.beta1) * g;
    const T second = s.beta2 * v[i] + (1 - s.beta2) * g * g;
    new_m[i] = first;
    new_v[i] = second;
    new_weights[i] = s.keep * weights[i] - s.step_size * first / (std::sqrt(second) * s.inverse_root + s.epsilon);
  }
}

/// LAMB's direction of one element before its tensor's trust ratio.
template <typename T>
inline T lamb_direction(const UpdateStep<T>& s, T weight, T first, T second) {
  return s.step_size * first / (std::sqrt(second) * s.inverse_root + s.epsilon) + s.decay * weight;
}

template <typename T>
void lamb_moments(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const T* m, const T* v,
                  T* new_m, T* new_v, double* sums) {
  const UpdateStep<T> s = step;
  double of_weights = 0, of_directions = 0;
#pragma omp simd reduction(+ : of_weights, of_directions)
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    const T first = s.beta1 * m[i] + (1 - s.beta1) * g;
    const T second = s.beta2 * v[i] + (1 - s.beta2) * g * g;
    new_m[i] = first;
    new_v[i] = second;
    const T direction = lamb_direction(s, weights[i], first, second);
    of_weights += static_cast<double>(weights[i]) * static_cast<double>(weights[i]);
    of_directions += static_cast<double>(direction) * static_cast<double>(direction);
  }
  sums[0] = of_weights;
  sums[1] = of_directions;
}

template <typename T>
void lamb_weights(std::int64_t n, const UpdateStep<T>& step, const T* weights, const T* m, const T* v, T* new_weights) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) new_weights[i] = weights[i] - s.rate * lamb_direction(s, weights[i], m[i], v[i]);
}

template <typename T>
void add_squares(std::int64_t n, const T* x, double* sums) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) sums[i] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
}

template <typename T>
void average_squares(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* v, T* new_v) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    new_v[i] = s.beta2 * v[i] + (1 - s.beta2) * g * g;
  }
}

/// Adafactor's direction: the gradient over the root of its estimated square.
template <typename T>
inline T factored_direction(const UpdateStep<T>& s, T gradient, T square) {
  return gradient * s.factor / std::sqrt(square > s.epsilon ? square : s.epsilon);
}

template <typename T>
double factored_sum(std::int64_t n, const UpdateStep<T>& step, T row, const T* gradient, const T* columns) {
  const UpdateStep<T> s = step;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) {
    const T direction = factored_direction(s, gradient[i], row * columns[i]);
    sum += static_cast<double>(direction) * static_cast<double>(direction);
  }
  return sum;
}

template <typename T>
void factored_weights(std::int64_t n, const UpdateStep<T>& step, T row, const T* gradient, const T* columns, const T* weights,
                      T* new_weights) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    new_weights[i] = s.keep * weights[i] - s.rate * factored_direction(s, gradient[i], row * columns[i]);
  }
}

/// SM3's sum of squares of one element, from those of its row and its column.
template <typename T>
inline T covered_sum(T row, T column, T gradient) {
  return (row < column ? row : column) + gradient * gradient;
}

template <typename T>
T sm3_row(std::int64_t n, const UpdateStep<T>& step, T row, const T* gradient, const T* columns, const T* weights,
          T* new_weights) {
  const UpdateStep<T> s = step;
  T most = 0;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    const T sum = covered_sum(row, columns[i], g);
    most = sum > most ? sum : most;
    new_weights[i] = s.keep * weights[i] - s.rate * (sum > 0 ? g / std::sqrt(sum) : T(0));
  }
  return most;
}

template <typename T>
void sm3_columns(std::int64_t n, T factor, T row, const T* gradient, const T* columns, T* most) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T sum = covered_sum(row, columns[i], gradient[i] * factor);
    most[i] = sum > most[i] ? sum : most[i];
  }
}

template <typename T>
void sm3_vector(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* sums, const T* weights, T* new_sums,
                T* new_weights) {
  const UpdateStep<T> s = step;
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    const T sum = sums[i] + g * g;
    new_sums[i] = sum;
    new_weights[i] = s.keep * weights[i] - s.rate * (sum > 0 ? g / std::sqrt(sum) : T(0));
  }
}

/// The codes of numbers over their scale, by the bounds between neighbouring values.
template <typename T>
inline float quantize(std::int64_t n, const T* numbers, const float* bounds, std::uint8_t* codes) {
  T most = 0;
#pragma omp simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i) {
    const T size = numbers[i] < 0 ? -numbers[i] : numbers[i];
    most = size > most ? size : most;
  }
  const float scale = static_cast<float>(most);
  const T divisor = scale > 0 ? static_cast<T>(scale) : T(1);
  float x[kQuantizedElements];
  std::int32_t code[kQuantizedElements];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<float>(numbers[i] / divisor);
    code[i] = 0;
  }
  for (std::int32_t half = 128; half > 0; half /= 2) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) code[i] += x[i] > bounds[code[i] + half - 1] ? half : 0;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>(code[i]);
  return scale;
}

template <typename T>
void adam8bit(std::int64_t n, const UpdateStep<T>& step, const T* gradient, const T* weights, const QuantizedBlock& m,
              const QuantizedBlock& v, T* new_weights) {
  const UpdateStep<T> s = step;
  const T m_scale = static_cast<T>(*m.scale), v_scale = static_cast<T>(*v.scale);
  T first[kQuantizedElements], second[kQuantizedElements];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) {
    const T g = gradient[i] * s.factor;
    first[i] = s.beta1 * (m_scale * static_cast<T>(m.values[m.codes[i]])) + (1 - s.beta1) * g;
    second[i] = s.beta2 * (v_scale * static_cast<T>(v.values[v.codes[i]])) + (1 - s.beta2) * g * g;
    new_weights[i] = s.keep * weights[i] - s.step_size * first[i] / (std::sqrt(second[i]) * s.inverse_root + s.epsilon);
  }
  *m.new_scale = quantize(n, first, m.bounds, m.new_codes);
  *v.new_scale = quantize(n, second, v.bounds, v.new_codes);
}

}  // namespace
}  // namespace plimsoll
