#include "tests/gpu/own_seconds.h"

#include <cstdlib>

#include "executor/cuda/loaded_device_plan.h"
#include "tests/gpu/sustained.h"

namespace plimsoll::gpu {

double sustained_for(double usual) {
  const char* const said = std::getenv("PLIMSOLL_SUSTAINED");
  const double seconds = said == nullptr ? 0 : std::strtod(said, nullptr);
  return seconds > 0 && seconds <= 10 ? seconds : usual;
}

OwnSeconds own_seconds(const Bench& bench, const Plan& plan, const BatchSource& data, double each) {
  LoadedDevicePlan loaded(plan, bench.device(), {.canary = false, .backend = "cuda", .drive = {.folder = "/tmp"}});
  loaded.initialize();
  const ExecutionContext context{loaded.plan, loaded.step, loaded.pool, loaded.product, data};
  OwnSeconds own;
  for (std::uint32_t id = 0; id < loaded.step.body.size(); ++id) {
    const Instruction& instruction = loaded.step.body.list.instructions[id];
    const StreamId stream = loaded.queues.streams[instruction.queue.index];
    if (instruction.kind != InstructionKind::kLaunch || !stream.valid()) continue;
    const auto [place, is_new] = own.of_kernel.try_emplace(instruction.kernel.index);
    if (is_new) {
      place->second = sustained(*bench.device(), stream, each,
                                [&] { launch_on_device(loaded.queues, context, id, 1, std::nullopt, nullptr); });
    }
    own.step += place->second;
  }
  return own;
}

}  // namespace plimsoll::gpu
