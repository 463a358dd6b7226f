#include "executor/cuda/loaded_device_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "executor/cpu/fill_state.h"
#include "executor/cpu/kept_state.h"
#include "executor/cpu/loaded_plan.h"
#include "executor/cpu/over_pieces.h"
#include "executor/cpu/published_weights.h"
#include "executor/cpu/state_share.h"
#include "executor/cuda/event_cost.h"
#include "executor/cuda/launch/supports.h"
#include "executor/cuda/stream_exchange.h"
#include "executor/data/no_batches.h"

namespace plimsoll {
namespace {

std::int64_t worker_count(const Plan& plan, const DeviceOptions& options) {
  if (options.threads > 0) return options.threads;
  for (const Processor& processor : plan.platform.processors) {
    if (processor.kind == ProcessorKind::kCpu) return std::max<std::int64_t>(1, processor.cores);
  }
  return 1;
}

std::size_t device_queues(const Platform& platform) {
  std::size_t count = 0;
  for (std::uint32_t q = 0; q < platform.queues.size(); ++q) count += is_device_queue(platform, QueueId(q)) ? 1 : 0;
  return count;
}

DeviceQueues queues_of(const Plan& plan, Device& device, EventPool& events, const DeviceArenas& arenas,
                       const DeviceOptions& options) {
  DeviceQueues queues{.device = device, .events = events, .streams = {}, .scratch = {}, .clock = device.add_stream(),
                      .links = options.links, .link_of_queue = options.link_of_queue};
  std::size_t of_device = 0;
  for (std::uint32_t q = 0; q < plan.platform.queues.size(); ++q) {
    const bool given = is_device_queue(plan.platform, QueueId(q));
    queues.streams.push_back(given ? device.add_stream() : StreamId());
    queues.scratch.push_back(given ? arenas.scratch(of_device++) : nullptr);
  }
  return queues;
}

bool writes_state(const Plan& plan, const Program& program, const Instruction& instruction) {
  const std::span<const Use> uses = program.body.uses(instruction);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return writes(use.access) && plan.buffers[use.target].persistent; });
}

}  // namespace

Bytes largest_scratch(const Plan& plan) {
  Bytes most;
  for (const Kernel& kernel : plan.kernels) most = std::max(most, cuda::scratch_of(kernel));
  return most;
}

LoadedDevicePlan::LoadedDevicePlan(const Plan& verified, const std::shared_ptr<Device>& device, const DeviceOptions& options)
    : LoadedDevicePlan(verified,
                       std::make_unique<DeviceArenas>(verified, device, options.drive, largest_scratch(verified),
                                                      device_queues(verified.platform)),
                       *device, options, State::kNone) {}

LoadedDevicePlan::LoadedDevicePlan(const Plan& verified, std::unique_ptr<DeviceArenas> arenas, Device& device,
                                   const DeviceOptions& options)
    : LoadedDevicePlan(verified, std::move(arenas), device, options, State::kKept) {}

LoadedDevicePlan::LoadedDevicePlan(const Plan& verified, std::unique_ptr<DeviceArenas> over, Device& device,
                                   const DeviceOptions& options, State state)
    : plan(verified),
      pool(worker_count(plan, options)),
      product(plan.recipe.matmul),
      arenas(std::move(over)),
      events(device),
      queues(queues_of(plan, device, events, *arenas, options)),
      step(arenas->program_of(plan, *plan.body("step"))),
      evaluation(plan.body("evaluation") == nullptr ? std::nullopt
                                                    : std::optional(arenas->program_of(plan, *plan.body("evaluation")))),
      states(plan, step, *arenas, device, queues.clock) {
  start_drives(options);
  rehearse(state);
  queues.event_cost = find_event_cost(events, queues.clock);
  if (options.graphs) capture_graphs();
  if (state == State::kKept) arenas->count_drives_from_state(plan);
  if (options.canary && state == State::kNone) arenas->fill_canary(plan, queues.clock);
  if (options.canary && state == State::kKept) arenas->fill_canary_outside_state(plan, queues.clock);
}

void LoadedDevicePlan::start_drives(const DeviceOptions& options) {
  source = options.backend + "; " + queues.device.info().software;
  std::vector<const Program*> programs{&step};
  if (evaluation) programs.push_back(&*evaluation);
  arenas->start_drives(programs);
  for (const Drive* drive : arenas->host().drives()) {
    source += fmt::format("; ssd: {}", drive->describe());
  }
}

void LoadedDevicePlan::rehearse(State state) {
  constexpr Bytes kWord(8);
  std::byte* const zeros = queues.device.reserve(kWord);
  queues.device.fill(queues.clock, zeros, std::byte{0}, kWord);
  queues.device.synchronize();
  std::set<Rehearsed> rehearsed;
  rehearse(step, state, zeros, rehearsed);
  if (evaluation) rehearse(*evaluation, state, zeros, rehearsed);
  queues.device.synchronize();
  queues.device.release(zeros);
}

/// Before the first step, for a graph takes memory of the device.
void LoadedDevicePlan::capture_graphs() {
  const NoBatches none;
  const ExecutionContext context{plan, step, pool, product, none};
  graphs = DeviceGraphs(step.body.size());
  for (const Stretch& stretch : find_stretches(plan, step, plan_events(plan.platform, step.body))) {
    const StreamId stream = queues.streams[step.body.list.instructions[stretch.front()].queue.index];
    graphs.add(stretch, queues.device.capture(stream, [&] {
      for (const std::uint32_t id : stretch) launch_on_device(queues, context, id, 0, std::nullopt, flag_of(step, id, 0));
    }));
  }
  queues.device.synchronize();
}

LoadedDevicePlan::Rehearsed LoadedDevicePlan::rehearsal_of(const Program& program, const Instruction& launch) const {
  Rehearsed made{.kernel = launch.kernel.index, .on_device = queues.streams[launch.queue.index].valid()};
  if (!made.on_device) return made;
  for (const PlacedUse& use : program.uses_of(launch)) {
    const auto address = reinterpret_cast<std::uintptr_t>(use.in_step(0));
    const auto alignment = std::min<std::uintptr_t>(kBufferAlignment.count, address & (~address + 1));
    made.operands.emplace_back(use.access, static_cast<std::uint32_t>(alignment));
  }
  return made;
}

/// A kernel that sums into its result, or whose operands lie at other places, is rehearsed for itself: a library may then find
/// another algorithm and load its code, which a capture does not allow and a step should not wait for.
void LoadedDevicePlan::rehearse(const Program& program, State state, const std::byte* zeros, std::set<Rehearsed>& rehearsed) {
  for (std::uint32_t id = 0; id < program.body.size(); ++id) {
    const Instruction& instruction = program.body.list.instructions[id];
    if (instruction.exchange.valid()) rehearse_sum(program, instruction);
    if (instruction.kind != InstructionKind::kLaunch || !rehearsed.insert(rehearsal_of(program, instruction)).second) continue;
    rehearse_launch(program, id, state, zeros);
  }
}

/// Zeros are valid operands of every kernel; what the arenas hold is lost, but for state that is kept. What would write that does
/// nothing on the device, where a flag of `zeros` says so, and is left out on the host, which loads no code.
void LoadedDevicePlan::rehearse_launch(const Program& program, std::uint32_t id, State state, const std::byte* zeros) {
  const Instruction& instruction = program.body.list.instructions[id];
  const StreamId stream = queues.streams[instruction.queue.index];
  const bool would_write = state == State::kKept && writes_state(plan, program, instruction);
  if (would_write && !stream.valid()) return;
  const std::span<const PlacedUse> uses = program.uses_of(instruction);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (state == State::kKept && plan.buffers[program.body.uses(instruction)[i].target].persistent) continue;
    if (stream.valid()) queues.device.fill(stream, uses[i].in_step(0), std::byte{0}, uses[i].bytes);
    else std::memset(uses[i].in_step(0), 0, static_cast<std::size_t>(uses[i].bytes.count));
  }
  const NoBatches none;
  const ExecutionContext context{plan, program, pool, product, none};
  if (stream.valid()) launch_on_device(queues, context, id, 0, std::nullopt, would_write ? zeros : nullptr);
  else execute_launch(plan, program, id, 0, pool, product);
}

/// A kernel that is loaded while another waits for its rank could wait for that one.
void LoadedDevicePlan::rehearse_sum(const Program& program, const Instruction& instruction) {
  const Exchange& exchange = plan.at(instruction.exchange);
  if (exchange.kind != ExchangeKind::kAllReduce && exchange.kind != ExchangeKind::kReduceScatter) return;
  const PlacedUse& workspace = program.uses_of(instruction).back();
  const auto size = static_cast<std::size_t>(size_of(exchange.dtype));
  if (workspace.bytes.count < size_of(exchange.dtype)) return;
  const std::span<std::byte> one(workspace.in_step(0), size);
  const StreamId stream = queues.streams[instruction.queue.index];
  queues.device.fill(stream, one.data(), std::byte{0}, Bytes(size_of(exchange.dtype)));
  StreamExchange::put_sum(queues.device, stream, exchange.dtype, one, one);
}

void LoadedDevicePlan::set(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte>)>& fill) const {
  const StateBinding* kept = find_kept(plan, kind, group);
  if (kept == nullptr) return;
  if (keeps_less(plan, *kept)) return set_share(*kept, fill);
  states.write(*kept, fill);
  if (kept->kind != TensorKind::kMaster) return;
  const std::span<const std::byte> read = states.read(*kept, 0);
  const std::vector<std::byte> weights(read.begin(), read.end());  // both may pass through one staging place
  const StateBinding* published = find_state(plan, TensorKind::kParameter, group);
  states.write(*published, [&](std::span<std::byte> place) {
    publish_weights(weights, dtype_of(plan, *kept), place, dtype_of(plan, *published));
  });
}

void LoadedDevicePlan::set_share(const StateBinding& kept, const std::function<void(std::span<std::byte>)>& fill) const {
  const std::vector<std::byte> whole = whole_state(plan, lay_out_parameters(plan.spec, plan.recipe.adapter), kept, fill);
  put_whole(kept, whole, is_weights(kept.kind) ? state_dtype(plan.recipe.precision) : dtype_of(plan, kept));
}

void LoadedDevicePlan::put_whole(const StateBinding& kept, std::span<const std::byte> whole, DType type) const {
  const ParameterLayout layout = lay_out_parameters(plan.spec, plan.recipe.adapter);
  const auto put = [&](const StateBinding& binding) {
    states.write(binding, [&](std::span<std::byte> place) {
      if (binding.parts == 1) return publish_weights(whole, type, place, dtype_of(plan, binding));
      publish_weights(part_in(whole, plan, layout, binding), type, place, dtype_of(plan, binding));
    });
  };
  put(kept);
  if (kept.kind == TensorKind::kMaster) put(*find_state(plan, TensorKind::kParameter, kept.group));
}

/// Drawn once, for the copy that the optimizer updates and the one that compute reads.
void LoadedDevicePlan::put_first_weights(const StateBinding& kept, std::span<std::byte> drawn) {
  const std::int64_t elements = lay_out_parameters(plan.spec, plan.recipe.adapter).at(kept.group).elements;
  const std::span<std::byte> whole = drawn.first(static_cast<std::size_t>(elements * size_of(dtype_of(plan, kept))));
  fill_weights(plan.spec, plan.recipe, kept.group, dtype_of(plan, kept), whole, pool);
  put_whole(kept, whole, dtype_of(plan, kept));
}

void LoadedDevicePlan::initialize() {
  const ParameterLayout layout = lay_out_parameters(plan.spec, plan.recipe.adapter);
  std::int64_t most = 0;
  for (const ParameterGroup& group : layout.groups) most = std::max(most, group.elements);
  const HostArena drawn(Bytes(most * size_of(state_dtype(plan.recipe.precision))));
  for (const StateBinding& binding : plan.state) {
    if (is_weights(binding.kind)) {
      const std::span<std::byte> memory(drawn.data(), static_cast<std::size_t>(drawn.size().count));
      if (find_kept(plan, binding.kind, binding.group) == &binding) put_first_weights(binding, memory);
    } else if (binding.kind == TensorKind::kScalar) {
      const LossScale first = first_loss_scale(plan.recipe.loss_scaling);
      states.write(binding, [&](std::span<std::byte> bytes) { std::memcpy(bytes.data(), &first, sizeof(first)); });
    } else {
      states.write(binding, zero_in_pieces);
    }
  }
}

}  // namespace plimsoll
