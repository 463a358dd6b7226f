#include "executor/cuda/host_twins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "executor/cuda/launch/by_storage.h"
#include "executor/cuda/launch/supports.h"
#include "executor/cuda/launch/update.h"
#include "executor/kernels/streamed_stores.h"
#include "executor/kernels/update_operands.h"

// Compiled without fused multiply-adds, as its loops and launch_update.cu are: all compute IEEE arithmetic in the same order.
namespace plimsoll {
namespace {

using cuda::Index;

static_assert(kTwinSums == cuda::kSquareThreads);

/// What a block of threads adds up: each thread's elements in order, then the threads' sums by halves.
template <typename S>
double squares_of_block(const S* values, Index begin, Index end, const TwinLoops& loops) {
  std::array<double, kTwinSums> sums{};
  loops.TwinSquares<S>::add_squares(end - begin, values + begin, sums.data());
  for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

template <typename Rule, typename Updates>
auto loop_of(const Updates& updates) {
  if constexpr (std::is_same_v<Rule, cuda::SgdRule>) return updates.sgd;
  if constexpr (std::is_same_v<Rule, cuda::MomentumRule>) return updates.momentum;
  if constexpr (std::is_same_v<Rule, cuda::LionRule>) return updates.lion;
  if constexpr (std::is_same_v<Rule, cuda::AdamRule>) return updates.adam;
  if constexpr (std::is_same_v<Rule, cuda::AdamWRule>) return updates.adamw;
}

/// The elements of a group from `at` on.
template <typename Rule, typename G, typename W, typename S>
UpdatedElements<G, W, S> elements_from(const cuda::UpdateGroup<Rule, G, W, S>& group, Index at) {
  UpdatedElements<G, W, S> e{.gradient = group.gradient + at, .weights = group.weights + at, .new_weights = group.new_weights + at};
  for (int k = 0; k < Rule::kStates; ++k) {
    e.states[k] = group.states[k] + at;
    e.new_states[k] = group.new_states[k] + at;
  }
  if (group.published != nullptr) e.published = group.published + at;
  return e;
}

/// The numbers of a group's update as every thread of the device has them.
template <typename Group>
UpdateStep<float> numbers_of(const Group& group) {
  UpdateStep<float> step = group.numbers;
  if (group.factor != nullptr) step.factor = static_cast<float>(*group.factor);
  if (group.corrections == nullptr) return step;
  step.step_size = group.corrections->step_size;
  step.inverse_root = group.corrections->inverse_root;
  return step;
}

/// By a rule's loop, where new values go past the caches to memory of their own: stores through them would read what they overwrite.
template <typename G, typename W, typename S, typename Loop>
void update_streamed(Index n, int states, const UpdateStep<float>& step, const UpdatedElements<G, W, S>& e, const Loop& loop) {
  alignas(64) std::array<std::array<W, kernels::kPiece>, 3> fresh;
  alignas(64) std::array<S, kernels::kPiece> published;
  for (Index at = 0; at < n; at += kernels::kPiece) {
    const Index piece = std::min(kernels::kPiece, n - at);
    UpdatedElements<G, W, S> part{.gradient = e.gradient + at, .weights = e.weights + at, .new_weights = fresh[0].data()};
    for (int k = 0; k < states; ++k) {
      part.states[k] = e.states[k] + at;
      part.new_states[k] = fresh[static_cast<std::size_t>(k) + 1].data();
    }
    if (e.published != nullptr) part.published = published.data();
    loop(piece, step, part);
    kernels::stream_out(piece, part.new_weights, e.new_weights + at);
    for (int k = 0; k < states; ++k) kernels::stream_out(piece, part.new_states[k], e.new_states[k] + at);
    if (e.published != nullptr) kernels::stream_out(piece, part.published, e.published + at);
  }
  kernels::finish_streams();
}

/// Runs the programs that take norms and update: sums of squares and updates on the workers, and what one thread does.
class HostLauncher {
 public:
  HostLauncher(WorkerPool& pool, const TwinLoops& loops) : pool_(pool), loops_(loops) {}

  template <typename Program>
  void run(const typename Program::Args& args) {
    if constexpr (requires { args.apply; }) {
      apply(args.elements, args.apply);
    } else {
      pool_.run(Program::blocks(args), [&](std::int64_t block, std::int64_t) {
        const Index size = cuda::squares_of_block(args.elements), begin = block * size;
        args.sums[block] = squares_of_block(args.values, begin, std::min(args.elements, begin + size), loops_);
      });
    }
  }

 private:
  template <typename Apply>
  static void apply_each(Index begin, Index count, const Apply& apply) {
    for (Index i = begin; i < begin + count; ++i) apply(i);
  }
  template <typename Apply>
  void apply(Index elements, const Apply& apply) {
    apply_each(0, elements, apply);
  }

  template <typename Rule, typename G, typename W, typename S>
  void apply(Index elements, const cuda::UpdateGroup<Rule, G, W, S>& group) {
    const UpdateStep<float> step = numbers_of(group);
    const bool keeps = group.corrections != nullptr && std::isnan(step.factor);
    const bool streams = group.new_weights != group.weights && elements >= kernels::kStreamedElements;
    const auto loop = loop_of<Rule>(static_cast<const TwinUpdates<G, W, S>&>(loops_));
    kernels::update_pieces<float>(elements, group.decaying, step, pool_, [&](Index at, Index n, const UpdateStep<float>& numbers) {
      if (keeps) return apply_each(at, n, group);
      const auto of_piece = elements_from(group, at);
      streams ? update_streamed(n, Rule::kStates, numbers, of_piece, loop) : loop(n, numbers, of_piece);
    });
  }

  WorkerPool& pool_;
  const TwinLoops& loops_;
};

template <typename S>
bool launch_twin(const cuda::DeviceLaunch& l, const TwinLoops& loops) {
  HostLauncher launcher(*l.context.pool, loops);
  return cuda::launch_update<S>(launcher, l);
}

}  // namespace

bool launch_as_on_device(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context,
                         const TwinLoops& loops) {
  std::vector<double> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) / sizeof(double));
  const cuda::DeviceLaunch launch{kernel, operands, context, reinterpret_cast<std::byte*>(scratch.data())};
  return cuda::by_storage(kernel.dtype, [&](auto type) { return launch_twin<typename decltype(type)::Type>(launch, loops); });
}

}  // namespace plimsoll
