#include "executor/cuda/check_device_plan.h"

#include <fmt/format.h>

#include "core/plan/expand.h"
#include "core/plan/fill_body.h"
#include "executor/cpu/check_runnable.h"
#include "executor/cuda/event_plan.h"
#include "executor/cuda/launch/supports.h"

namespace plimsoll {
namespace {

tl::unexpected<Error> refuse(std::string what, std::string where = {}) {
  return fail({.kind = ErrorKind::kInput,
               .what = std::move(what),
               .where = std::move(where),
               .remedy = "run with --backend cpu; fit, plan and simulate know it too"});
}

Result<void> check_recipe(const Recipe& recipe) {
  if (recipe.precision == Precision::kFp64) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "the CUDA backend does not compute in fp64",
                 .where = {},
                 .remedy = "use --precision fp16-mixed, bf16-mixed (from sm_80 on), tf32 or fp32"});
  }
  if (recipe.delay > 0) return refuse("the CUDA backend has no delayed updates");
  return {};
}

Result<void> check_queues(const Platform& platform) {
  std::optional<ProcessorId> gpu;
  for (std::uint32_t q = 0; q < platform.queues.size(); ++q) {
    if (!is_device_queue(platform, QueueId(q))) continue;
    const Queue& queue = platform.queues[q];
    if (queue.width != 1) return refuse("the CUDA backend's queues run one instruction at a time", queue.name);
    if (gpu && *gpu != queue.processor) return refuse("the CUDA backend runs plans of one GPU", queue.name);
    gpu = queue.processor;
  }
  if (!gpu) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("the plan was made for '{}', which has no GPU", platform.name),
                 .where = {},
                 .remedy = "run it with --backend cpu, or make a plan with --on GPU"});
  }
  return {};
}

bool is_in_device(const Plan& plan, const Use& use) {
  return plan.platform.at(plan.buffers[use.target].space).kind == SpaceKind::kDevice;
}

/// Sums over ranks are made by the device's own kernel.
Result<void> check_exchange(const Exchange& exchange, const std::string& where) {
  if (is_all_to_all(exchange.kind)) return refuse("the CUDA backend cannot send rows to experts of other ranks (--ep) yet", where);
  const bool sums = exchange.kind == ExchangeKind::kAllReduce || exchange.kind == ExchangeKind::kReduceScatter;
  if (!sums || cuda::check_kernel({.kind = OpKind::kAdd, .dtype = exchange.dtype})) return {};
  return refuse(fmt::format("the CUDA backend does not sum {} over ranks", to_text(exchange.dtype)), where);
}

Result<void> check_on_device(const Plan& plan, const FlatBody& body, const Instruction& instruction, const std::string& where) {
  const std::span<const Use> uses = body.uses(instruction);
  const bool guarded = instruction.guard != kNoGuard;
  if (guarded && uses[instruction.guard].bytes.count != 8) return refuse("the CUDA backend reads guards of 8 bytes", where);
  switch (instruction.kind) {
    case InstructionKind::kLaunch: {
      const Kernel& kernel = plan.at(instruction.kernel);
      if (auto known = cuda::check_kernel(kernel); !known) return known;
      if (guarded && (!is_update(kernel.kind) || !is_in_device(plan, uses[instruction.guard]))) {
        return refuse("the CUDA backend guards updates by flags in the device's memory only", where);
      }
      return {};
    }
    case InstructionKind::kCopy:
    case InstructionKind::kMarker: return {};
    case InstructionKind::kCollective:
      if (instruction.exchange.valid() && !guarded) return check_exchange(plan.at(instruction.exchange), where);
      [[fallthrough]];
    default:
      return refuse(fmt::format("the CUDA backend cannot run a {} on a queue of the device", to_text(instruction.kind)), where);
  }
}

Result<void> check_on_host(const Plan& plan, const FlatBody& body, const Instruction& instruction, const std::string& where) {
  const std::span<const Use> uses = body.uses(instruction);
  if (instruction.kind == InstructionKind::kLaunch && plan.at(instruction.kernel).kind == OpKind::kMuon) {  // its sums would be others
    return fail({.kind = ErrorKind::kInput,
                 .what = "the CUDA backend has the GPU alone update matrices by muon, and the plan leaves some to the CPU",
                 .where = where,
                 .remedy = "say as many device_update_blocks as the model has, or --strategy stream-device-update"});
  }
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const bool by_drive = (instruction.kind == InstructionKind::kRead && i == 1) || (instruction.kind == InstructionKind::kWrite && i == 0);
    if (!by_drive && is_in_device(plan, uses[i])) {
      return refuse("the host cannot reach the device's memory but by a queue of the device", where);
    }
  }
  return {};
}

Result<void> check_body(const Plan& plan, const Body& named) {
  const FlatBody body = expand(plan, named);
  for (std::size_t id = 0; id < body.size(); ++id) {
    const Instruction& instruction = body.list.instructions[id];
    const std::string where = fmt::format("{} instruction {}", named.name, id);
    const auto check = is_device_queue(plan.platform, instruction.queue) ? check_on_device : check_on_host;
    if (auto good = check(plan, body, instruction, where); !good) return good;
  }
  return {};
}

}  // namespace

Result<void> check_device_plan(const Plan& plan) {
  if (auto good = check_recipe(plan.recipe); !good) return good;
  if (plan.body(kFillBody) != nullptr) return refuse("the CUDA backend cannot run pipelines without a flush");
  if (auto good = check_queues(plan.platform); !good) return good;
  Plan as_fp32 = plan;  // what the CPU backend asks of a plan's bodies and states holds here too; tf32 it has not
  if (as_fp32.recipe.precision == Precision::kTf32) {
    as_fp32.recipe.precision = Precision::kFp32;
    for (Kernel& kernel : as_fp32.kernels) kernel.dtype = kernel.dtype == DType::kTf32 ? DType::kFp32 : kernel.dtype;
  }
  if (auto good = check_runnable(as_fp32, true); !good) return good;
  for (const Body& body : plan.bodies) {
    if (auto good = check_body(plan, body); !good) return good;
  }
  return {};
}

}  // namespace plimsoll
