#include "executor/cuda/host_twins.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "executor/cuda/launch/by_storage.h"
#include "executor/cuda/launch/supports.h"
#include "executor/cuda/launch/update.h"
#include "executor/kernels/elementwise_update.h"

// Compiled without fused multiply-adds, as its loops and launch_update.cu are: all compute IEEE arithmetic in the same order.
namespace plimsoll {
namespace {

using cuda::Index;

static_assert(kTwinSums == cuda::kSquareThreads && kernels::kPiece % kTwinSums == 0);

/// What a block of threads adds up: each thread's elements in order, then the threads' sums by halves.
template <typename S>
double squares_of_block(const S* values, Index begin, Index end, const TwinLoops& loops) {
  std::array<double, kTwinSums> sums{};
  kernels::for_pieces<S>(begin, end, [&](Index at, Index n) {
    kernels::PieceScratch<S> scratch;
    loops.add_squares(n, kernels::widened(n, values + at, scratch.values), sums.data());
  });
  for (std::size_t half = sums.size() / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// Runs the programs that take norms: sums of squares on the workers, and what one thread does.
class HostLauncher {
 public:
  HostLauncher(WorkerPool& pool, const TwinLoops& loops) : pool_(pool), loops_(loops) {}

  template <typename Program>
  void run(const typename Program::Args& args) {
    if constexpr (requires { args.apply; }) {
      for (Index i = 0; i < args.elements; ++i) args.apply(i);
    } else {
      pool_.run(Program::blocks(args), [&](std::int64_t block, std::int64_t) {
        const Index size = cuda::squares_of_block(args.elements), begin = block * size;
        args.sums[block] = squares_of_block(args.values, begin, std::min(args.elements, begin + size), loops_);
      });
    }
  }

 private:
  WorkerPool& pool_;
  const TwinLoops& loops_;
};

/// The numbers of an update as every thread of the device has them.
template <std::size_t N>
UpdateStep<float> update_numbers(const cuda::DeviceLaunch& l) {
  UpdateStep<float> step = cuda::update_numbers(l.context);
  const auto* factor = reinterpret_cast<const double*>(cuda::update_places(l.operands, N).factor);
  if (factor != nullptr) step.factor = static_cast<float>(*factor);
  if (!scales_loss(l.context.recipe->precision)) return step;
  cuda::UpdateCorrections made;
  cuda::CorrectBias{cuda::correction_numbers(l.context), factor, &made}(0);
  step.step_size = made.step_size;
  step.inverse_root = made.inverse_root;
  return step;
}

/// In a rule's place, where the gradients of a scaled loss were not finite: weights and states stay.
struct KeepElements {
  using Step = UpdateStep<float>;

  static void copy(Index n, const float* from, float* to) { std::memmove(to, from, static_cast<std::size_t>(n) * sizeof(float)); }
  void operator()(Index n, const Step&, const float*, const float* weights, float* new_weights) const {
    copy(n, weights, new_weights);
  }
  void operator()(Index n, const Step& step, const float* gradient, const float* weights, const float* velocity,
                  float* new_weights, float* new_velocity) const {
    (*this)(n, step, gradient, weights, new_weights);
    copy(n, velocity, new_velocity);
  }
  void operator()(Index n, const Step& step, const float* gradient, const float* weights, const float* m, const float* v,
                  float* new_weights, float* new_m, float* new_v) const {
    (*this)(n, step, gradient, weights, m, new_weights, new_m);
    copy(n, v, new_v);
  }
};

template <std::size_t N, typename S, typename Loop>
void update_by(const cuda::DeviceLaunch& l, const Loop& loop) {
  const UpdateStep<float> step = update_numbers<N>(l);
  WorkerPool& pool = *l.context.pool;
  const bool keeps = scales_loss(l.context.recipe->precision) && std::isnan(step.factor);
  if (keeps) return kernels::update_elements<N, S>(l.shape(), l.operands, step, pool, KeepElements());
  kernels::update_elements<N, S>(l.shape(), l.operands, step, pool, loop);
}

template <typename S>
bool launch_twin(const cuda::DeviceLaunch& l, const TwinLoops& loops) {
  HostLauncher launcher(*l.context.pool, loops);
  switch (l.kernel.kind) {
    case OpKind::kSquaredNorm: cuda::launch_squared_norm<S>(launcher, l); return true;
    case OpKind::kClipFactor: cuda::launch_clip_factor(launcher, l); return true;
    case OpKind::kSgd: update_by<0, S>(l, loops.sgd); return true;
    case OpKind::kMomentum: update_by<1, S>(l, loops.momentum); return true;
    case OpKind::kLion: update_by<1, S>(l, loops.lion); return true;
    case OpKind::kAdam: update_by<2, S>(l, loops.adam); return true;
    case OpKind::kAdamW: update_by<2, S>(l, loops.adamw); return true;
    default: return false;
  }
}

}  // namespace

bool launch_as_on_device(const Kernel& kernel, std::span<const OperandView> operands, const LaunchContext& context,
                         const TwinLoops& loops) {
  std::vector<double> scratch(static_cast<std::size_t>(cuda::scratch_of(kernel).count) / sizeof(double));
  const cuda::DeviceLaunch launch{kernel, operands, context, reinterpret_cast<std::byte*>(scratch.data())};
  return cuda::by_storage(kernel.dtype, [&](auto type) { return launch_twin<typename decltype(type)::Type>(launch, loops); });
}

}  // namespace plimsoll
