#pragma once

#include "executor/kernels/streamed_stores.h"
#include "executor/kernels/update_operands.h"

// Updates that treat every element alike, by a rule's inner loop, however gradients, weights and states are stored.
namespace plimsoll::kernels {

/// One piece by a rule's loop: weights and N states from old to new, published where compute reads others.
template <std::size_t N, typename S, typename W, typename Loop>
void update_piece(const UpdateOperands<S, W>& u, std::int64_t at, std::int64_t n, const UpdateStep<Arithmetic<S>>& step,
                  const Loop& loop) {
  using T = Arithmetic<S>;
  PieceScratch<S> of_gradient;
  PieceScratch<W> of_weights;
  [[maybe_unused]] std::array<PieceScratch<W>, 2> of_states;
  T* moved = opened(n, u.new_weights + at, of_weights.values);
  const T* gradient = u.gradient.read(at, n, of_gradient);
  const T* weights = widened(n, u.weights + at, of_weights.values);
  [[maybe_unused]] std::array<const T*, 2> old{};
  [[maybe_unused]] std::array<T*, 2> fresh{};
  for (std::size_t i = 0; i < N; ++i) {
    fresh[i] = opened(n, u.new_state(i) + at, of_states[i].values);
    old[i] = widened(n, u.state(i) + at, of_states[i].values);
  }
  if constexpr (N == 0) loop(n, step, gradient, weights, moved);
  if constexpr (N == 1) loop(n, step, gradient, weights, old[0], moved, fresh[0]);
  if constexpr (N == 2) loop(n, step, gradient, weights, old[0], old[1], moved, fresh[0], fresh[1]);
  store(n, moved, u.new_weights + at);
  for (std::size_t i = 0; i < N; ++i) store(n, fresh[i], u.new_state(i) + at);
  u.publish(at, n, moved);
}

/// The same where new values go past the caches to memory of their own: stores through the caches would read what they overwrite.
template <std::size_t N, typename S, typename W, typename Loop>
void update_streamed(const UpdateOperands<S, W>& u, std::int64_t begin, std::int64_t count, const UpdateStep<W>& step, const Loop& loop) {
  alignas(64) std::array<std::array<W, kPiece>, N + 1> fresh;
  alignas(64) std::array<S, kPiece> published;
  for (std::int64_t at = begin; at < begin + count; at += kPiece) {
    const std::int64_t n = std::min(kPiece, begin + count - at);
    PieceScratch<S> of_gradient;
    const W* gradient = u.gradient.read(at, n, of_gradient);
    const W* weights = u.weights + at;
    if constexpr (N == 0) loop(n, step, gradient, weights, fresh[0].data());
    if constexpr (N == 1) loop(n, step, gradient, weights, u.state(0) + at, fresh[0].data(), fresh[1].data());
    if constexpr (N == 2)
      loop(n, step, gradient, weights, u.state(0) + at, u.state(1) + at, fresh[0].data(), fresh[1].data(), fresh[2].data());
    stream_out(n, fresh[0].data(), u.new_weights + at);
    for (std::size_t i = 0; i < N; ++i) stream_out(n, fresh[i + 1].data(), u.new_state(i) + at);
    if (u.published == nullptr) continue;
    round_into(n, fresh[0].data(), published.data());
    stream_out(n, published.data(), u.published + at);
  }
  finish_streams();
}

template <std::size_t N, typename S, typename W, typename Loop>
void update_stored(const OpShape& s, Operands operands, const UpdateStep<Arithmetic<S>>& step, WorkerPool& pool,
                   const Loop& loop) {
  using T = Arithmetic<S>;
  const UpdateOperands<S, W> u = update_operands<S, W>(operands, N, s.rows);
  if constexpr (!kIsHalf<W>) {
    if (u.new_weights != u.weights && s.rows >= kStreamedElements)
      return update_pieces<T>(s.rows, s.inputs, step, pool, [&](std::int64_t at, std::int64_t n, const UpdateStep<T>& numbers) {
        update_streamed<N>(u, at, n, numbers, loop);
      });
  }
  update_pieces<S>(s.rows, s.inputs, step, pool,
                   [&](std::int64_t at, std::int64_t n, const UpdateStep<T>& numbers) { update_piece<N>(u, at, n, numbers, loop); });
}

/// A rule of N states with the numbers of `step`. Of the elements the first `s.inputs` decay.
template <std::size_t N, typename S, typename Loop>
void update_elements(const OpShape& s, Operands operands, const UpdateStep<Arithmetic<S>>& step, WorkerPool& pool,
                     const Loop& loop) {
  const bool wide = operands[0].bytes.count == s.rows * static_cast<std::int64_t>(sizeof(Arithmetic<S>));
  wide ? update_stored<N, S, Arithmetic<S>>(s, operands, step, pool, loop) : update_stored<N, S, S>(s, operands, step, pool, loop);
}

}  // namespace plimsoll::kernels
