#include "sim/memory/process_need.h"

#include "core/graph/op_work.h"
#include "core/plan/expand.h"
#include "formats/machines/constant_table.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPage = 4096;

Bytes in_pages(Bytes bytes) { return Bytes((bytes.count + kPage - 1) / kPage * kPage); }

Bytes scaled(double bytes) { return Bytes(static_cast<std::int64_t>(bytes)); }

/// What CPU workers widen operands of two bytes into; Muon has some whatever the recipe's type.
Bytes half_scratch(const Plan& plan) {
  const DType dtype = compute_dtype(plan.recipe.precision);
  const auto compute = plan.platform.queue("compute");
  const bool widens = size_of(dtype) == 2 || plan.recipe.optimizer == OptimizerKind::kMuon;
  if (!widens || !compute) return Bytes(0);
  const Processor& processor = plan.platform.at(plan.platform.at(*compute).processor);
  const std::int64_t workers = processor.kind == ProcessorKind::kCpu ? processor.cores : 0;
  return Bytes(workers * kHalfScratch * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace

Bytes events_kept(std::int64_t events) {
  return scaled(process_memory_constants().at("event") * static_cast<double>(events));
}

ProcessNeed process_need(const Plan& plan, std::int64_t traced_steps) {
  ProcessNeed need;
  for (const Arena& arena : plan.arenas) {
    if (plan.platform.at(arena.space).kind != SpaceKind::kSsd) need.arenas += in_pages(arena.bytes);
  }
  const ConstantTable& known = process_memory_constants();
  std::int64_t instructions = 0;
  for (const Body& body : plan.bodies) {
    const auto count = static_cast<std::int64_t>(instruction_count(plan, body));
    instructions += count;
    if (body.name == "step") need.events = events_kept(count * traced_steps);
  }
  const double library =
      known.at("program." + std::string(to_text(plan.recipe.matmul))) * static_cast<double>(kMiB.count);
  need.program = scaled(library + known.at("instruction") * static_cast<double>(instructions)) + half_scratch(plan);
  return need;
}

}  // namespace plimsoll
