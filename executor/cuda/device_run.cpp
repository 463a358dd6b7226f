#include "executor/cuda/device_run.h"

#include <algorithm>

#include "executor/cuda/host_twins.h"
#include "executor/cuda/stream_exchange.h"

namespace plimsoll {
namespace {

/// Steps that may be open at once: one that computes, one that is loaded, one that is reported, one that is being given.
constexpr std::uint32_t kInFlight = 4;

constexpr std::int64_t kFlagBytes = 8;

}  // namespace

const std::byte* flag_of(const Program& program, std::uint32_t id, std::int64_t step) {
  const Instruction& instruction = program.body.list.instructions[id];
  return instruction.guard == kNoGuard ? nullptr : program.uses_of(instruction)[instruction.guard].in_step(step);
}

void launch_on_device(const DeviceQueues& queues, const ExecutionContext& context, std::uint32_t id, std::int64_t step,
                      std::optional<std::int64_t> targets, const std::byte* flag) {
  const Instruction& instruction = context.program.body.list.instructions[id];
  const std::vector<OperandView> operands = operands_of(context.program, instruction, step);
  const LaunchContext launch =
      launch_context(context.plan, context.program, id, step, context.pool, context.product, targets);
  queues.device.launch(queues.streams[instruction.queue.index],
                       {context.plan.at(instruction.kernel), operands, launch, queues.scratch[instruction.queue.index]}, flag);
}

DeviceRun::DeviceRun(const DeviceQueues& queues, const ExecutionContext& context, const RunSegment& segment,
                     std::uint64_t jitter_seed, const DeviceGraphs* graphs)
    : queues_(queues),
      context_(context),
      segment_(segment),
      jitter_seed_(jitter_seed),
      graphs_(graphs),
      events_(plan_events(context.plan.platform, context.program.body)),
      ring_(kInFlight + events_.longest_distance),
      gate_(context.program.body.size(), kInFlight),
      origin_(HostClock::now()),
      clock_(queues.events, queues.clock, origin_),
      marks_(ring_, std::vector<Mark>(context.program.body.size())),
      flags_(Bytes(static_cast<std::int64_t>(ring_ * context.program.body.size()) * kFlagBytes)) {
  take_events();
  queues_.device.pin({flags_.data(), static_cast<std::size_t>(flags_.size().count)});
}

void DeviceRun::take_events() {
  const bool traces = segment_.first_traced_step - segment_.first_step < segment_.steps;
  const auto turns = static_cast<std::size_t>(std::clamp<std::int64_t>(segment_.steps, 0, ring_));
  for (std::size_t turn = 0; turn < turns; ++turn) {
    std::vector<Mark>& step = marks_[turn];
    for (std::uint32_t id = 0; id < step.size(); ++id) {
      if (!is_on_device(id)) continue;
      const Instruction& instruction = context_.program.body.list.instructions[id];
      const bool asks_flag = instruction.guard != kNoGuard && host_reads_flag(instruction);
      if (traces) step[id].started = queues_.events.take();
      if (traces || asks_flag || events_.records[id] != 0) step[id].ended = queues_.events.take();
    }
  }
}

DeviceRun::~DeviceRun() {
  try {
    queues_.device.synchronize();
    for (std::vector<Mark>& step : marks_) {
      for (const Mark& left : step) {
        queues_.events.give_back(left.started);
        queues_.events.give_back(left.ended);
      }
    }
    queues_.device.unpin({flags_.data(), static_cast<std::size_t>(flags_.size().count)});
  } catch (const EnvironmentError&) {
    return;  // a device that failed keeps nothing
  }
}

LaneRecord DeviceRun::run() {
  LaneRecord record = run_lanes({.platform = context_.plan.platform,
                                 .body = context_.program.body,
                                 .first_step = segment_.first_step,
                                 .steps = static_cast<std::uint32_t>(std::clamp<std::int64_t>(segment_.steps, 0, UINT32_MAX)),
                                 .first_traced_step = INT64_MAX,  // its events are ours
                                 .jitter_seed = jitter_seed_,
                                 .stop = segment_.stop,
                                 .execute = [&](std::uint32_t id, std::int64_t step) { return carry_out(id, step); },
                                 .on_step = segment_.on_step});
  queues_.device.synchronize();
  const std::scoped_lock lock(mutex_);
  while (harvested_ < static_cast<std::int64_t>(record.steps.size())) harvest(harvested_++);
  std::sort(trace_.begin(), trace_.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return std::pair(a.step, a.instruction) < std::pair(b.step, b.instruction);
  });
  record.events = std::move(trace_);
  for (const TraceEvent& event : record.events) {
    StepSummary& summary = record.steps[event.step - static_cast<std::size_t>(segment_.first_step)];
    summary.end = std::max(summary.end, event.end);
  }
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    record.steps[i].start = i == 0 ? Nanoseconds(0) : record.steps[i - 1].end;
    record.steps[i].end = std::max(record.steps[i].end, record.steps[i].start);
  }
  return record;
}

Outcome DeviceRun::carry_out(std::uint32_t id, std::int64_t step) {
  const std::int64_t place = step - segment_.first_step;
  try {
    if (!gate_.enter(static_cast<std::uint32_t>(place))) {
      const std::scoped_lock lock(mutex_);
      std::rethrow_exception(failure_);
    }
    make_room(place - ring_);
    Outcome outcome = is_on_device(id) ? on_device(id, step) : on_host(id, step);
    gate_.leave(static_cast<std::uint32_t>(place));
    return outcome;
  } catch (...) {
    {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    gate_.fail();
    throw;
  }
}

void DeviceRun::make_room(std::int64_t place) {
  const std::scoped_lock lock(mutex_);
  while (harvested_ <= place) harvest(harvested_++);
}

void DeviceRun::harvest(std::int64_t place) {
  const std::int64_t step = segment_.first_step + place;
  for (std::uint32_t id = 0; is_traced(step) && id < context_.program.body.size(); ++id) {
    Mark& left = mark(id, step);
    if (!left.given) continue;
    left.given = false;
    queues_.device.synchronize(left.ended);
    const Instruction& instruction = context_.program.body.list.instructions[id];
    const bool guarded = instruction.guard != kNoGuard;
    const Nanoseconds start = clock_.at(left.started), end = clock_.at(left.ended);
    const Nanoseconds added = instruction.kind == InstructionKind::kLaunch ? queues_.event_cost.within : Nanoseconds(0);
    trace_.push_back({.step = static_cast<std::uint32_t>(step),
                      .instruction = id,
                      .start = start,
                      .end = std::max(start, end - added),
                      .status = guarded && flag_word(id, step) == 0 ? EventStatus::kSkipped : EventStatus::kMeasured});
  }
}

Outcome DeviceRun::on_device(std::uint32_t id, std::int64_t step) {
  if (context_.transport != nullptr) context_.transport->note_instruction(step);
  const bool traced = is_traced(step);
  if (const auto place = graphs_ != nullptr && !traced ? graphs_->find(id) : std::nullopt) return by_graph(id, step, *place);
  const StreamId stream = queues_.streams[context_.program.body.list.instructions[id].queue.index];
  Mark& own = mark(id, step);
  wait_on_stream(id, step, stream);
  if (traced) {
    queues_.device.record(stream, own.started);
  }
  give(id, step);
  if (traced || events_.records[id] != 0) record_end(id, step, stream);
  own.given = traced;
  return {};
}

Outcome DeviceRun::by_graph(std::uint32_t id, std::int64_t step, const DeviceGraphs::Place& place) {
  const StreamId stream = queues_.streams[context_.program.body.list.instructions[id].queue.index];
  wait_on_stream(id, step, stream);
  if (!place.is_last) return {};
  queues_.device.run(stream, place.graph);
  if (events_.records[id] != 0) record_end(id, step, stream);
  return {};
}

void DeviceRun::wait_on_stream(std::uint32_t id, std::int64_t step, StreamId stream) {
  for (const EventPlan::Wait& wait : events_.waits[id]) {
    if (step - wait.distance >= segment_.first_step) queues_.device.wait(stream, mark(wait.target, step - wait.distance).ended);
  }
}

void DeviceRun::record_end(std::uint32_t id, std::int64_t step, StreamId stream) {
  queues_.device.record(stream, mark(id, step).ended);
}

void DeviceRun::give(std::uint32_t id, std::int64_t step) {
  const Instruction& instruction = context_.program.body.list.instructions[id];
  const StreamId stream = queues_.streams[instruction.queue.index];
  const bool guarded = instruction.guard != kNoGuard;
  if (instruction.exchange.valid()) return give_exchange(id, step);
  if (guarded && host_reads_flag(instruction) && !asked_flag(id, step, stream)) return;
  if (instruction.kind == InstructionKind::kLaunch) {
    const std::byte* flag = host_reads_flag(instruction) ? nullptr : flag_of(context_.program, id, step);
    launch_on_device(queues_, context_, id, step, targets_of(context_, instruction, step), flag);
    if (flag != nullptr && is_traced(step)) fetch_flag(id, step, stream);
  } else if (instruction.kind == InstructionKind::kCopy) {
    const std::vector<OperandView> operands = operands_of(context_.program, instruction, step);
    queues_.device.copy(stream, operands[1].data, operands[0].data, operands[0].bytes);
  }
}

void DeviceRun::give_exchange(std::uint32_t id, std::int64_t step) {
  const Instruction& instruction = context_.program.body.list.instructions[id];
  std::vector<std::span<std::byte>> uses;
  for (const OperandView& operand : operands_of(context_.program, instruction, step))
    uses.emplace_back(operand.data, static_cast<std::size_t>(operand.bytes.count));
  StreamExchange steps(queues_.device, queues_.streams[instruction.queue.index], *queues_.links,
                       *queues_.link_of_queue[instruction.queue.index]);
  run_exchange(context_.plan.at(instruction.exchange), steps, uses);
}

void DeviceRun::fetch_flag(std::uint32_t id, std::int64_t step, StreamId stream) {
  queues_.device.copy(stream, reinterpret_cast<std::byte*>(&flag_word(id, step)), flag_of(context_.program, id, step), Bytes(kFlagBytes));
}

bool DeviceRun::host_reads_flag(const Instruction& instruction) const {
  return instruction.kind == InstructionKind::kCopy ||
         (instruction.kind == InstructionKind::kLaunch && context_.plan.at(instruction.kernel).kind == OpKind::kMuon);
}

bool DeviceRun::asked_flag(std::uint32_t id, std::int64_t step, StreamId stream) {
  fetch_flag(id, step, stream);
  const DeviceEventId fetched = mark(id, step).ended;
  queues_.device.record(stream, fetched);
  queues_.device.synchronize(fetched);
  return flag_word(id, step) != 0;
}

Outcome DeviceRun::on_host(std::uint32_t id, std::int64_t step) {
  wait_on_host(id, step);
  const Instruction& instruction = context_.program.body.list.instructions[id];
  const Nanoseconds start = now();
  Outcome outcome;
  if (instruction.kind != InstructionKind::kLaunch) {
    outcome = execute(context_, id, step);
  } else if (guard_is_set(context_.program, instruction, step)) {
    run_host_launch(id, step);
  } else {
    outcome.skipped = true;
  }
  if (is_traced(step)) {
    note({.step = static_cast<std::uint32_t>(step),
          .instruction = id,
          .start = start,
          .end = now(),
          .status = outcome.skipped ? EventStatus::kSkipped : EventStatus::kMeasured});
  }
  return outcome;
}

void DeviceRun::run_host_launch(std::uint32_t id, std::int64_t step) {
  const Instruction& instruction = context_.program.body.list.instructions[id];
  const std::vector<OperandView> operands = operands_of(context_.program, instruction, step);
  const auto targets = targets_of(context_, instruction, step);
  const LaunchContext own = launch_context(context_.plan, context_.program, id, step, context_.pool, context_.product, targets);
  const Kernel& kernel = context_.plan.at(instruction.kernel);
  if (!launch_as_on_device(kernel, operands, own)) launch(kernel, operands, own);
}

void DeviceRun::wait_on_host(std::uint32_t id, std::int64_t step) {
  for (const EventPlan::Wait& wait : events_.waits[id]) {
    if (step - wait.distance >= segment_.first_step) {
      queues_.device.synchronize(mark(wait.target, step - wait.distance).ended);
    }
  }
}

DeviceRun::Mark& DeviceRun::mark(std::uint32_t id, std::int64_t step) {
  return marks_[static_cast<std::size_t>(step - segment_.first_step) % ring_][id];
}

std::uint64_t& DeviceRun::flag_word(std::uint32_t id, std::int64_t step) {
  const std::size_t place = static_cast<std::size_t>(step - segment_.first_step) % ring_ * context_.program.body.size() + id;
  return reinterpret_cast<std::uint64_t*>(flags_.data())[place];
}

bool DeviceRun::is_on_device(std::uint32_t id) const {
  return queues_.streams[context_.program.body.list.instructions[id].queue.index].valid();
}

Nanoseconds DeviceRun::now() const {
  return Nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(HostClock::now() - origin_).count());
}

void DeviceRun::note(TraceEvent event) {
  const std::scoped_lock lock(mutex_);
  trace_.push_back(event);
}

}  // namespace plimsoll
