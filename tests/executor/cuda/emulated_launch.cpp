#include "tests/executor/cuda/emulated_launch.h"

#include <mutex>
#include <stdexcept>

#include "executor/cuda/launch/attention.h"
#include "executor/cuda/launch/by_storage.h"
#include "executor/cuda/launch/dense.h"
#include "executor/cuda/launch/loss.h"
#include "executor/cuda/launch/muon.h"
#include "executor/cuda/launch/streaming.h"
#include "executor/cuda/launch/update.h"
#include "tests/executor/cuda/emulated_launcher.h"

namespace plimsoll::test {

void emulate(const cuda::DeviceLaunch& launch, Fibers::Order order) {
  static std::mutex one_at_a_time;
  static EmulatedLauncher forward(Fibers::Order::kForward), backward(Fibers::Order::kBackward);
  const std::scoped_lock lock(one_at_a_time);
  EmulatedLauncher& launcher = order == Fibers::Order::kForward ? forward : backward;
  const bool known = cuda::by_storage(launch.kernel.dtype, [&](auto type) {
    using S = typename decltype(type)::Type;
    return cuda::launch_dense<S>(launcher, launch) || cuda::launch_streaming<S>(launcher, launch) ||
           cuda::launch_attention<S>(launcher, launch) || cuda::launch_loss<S>(launcher, launch) ||
           cuda::launch_update<S>(launcher, launch) || cuda::launch_matrix_update<S>(launcher, launch);
  });
  if (!known) throw std::logic_error("no program for " + std::string(to_text(launch.kernel.kind)));
}

}  // namespace plimsoll::test
