#include "executor/collectives/job_executor.h"

#include <algorithm>
#include <cstring>

#include "core/plan/fill_body.h"

namespace plimsoll {
namespace {

// Channels on which no plan sends; nothing of a plan is on its way when they are used.
constexpr std::uint32_t kOrders = 1'100;
constexpr std::uint32_t kStates = 1'101;
constexpr double kStretchSeconds = 0.25;  // mpirun gives ranks one second from Ctrl-C to their end

Nanoseconds clock_now() {
  return Nanoseconds(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

StepSummary moved(StepSummary step, Nanoseconds by) {
  step.start += by;
  step.end += by;
  return step;
}

std::vector<TraceEvent> moved(std::vector<TraceEvent> events, Nanoseconds by) {
  for (TraceEvent& event : events) {
    event.start += by;
    event.end += by;
  }
  return events;
}

void append_events(Trace& trace, const std::vector<TraceEvent>& events) {
  trace.events.insert(trace.events.end(), events.begin(), events.end());
}

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

std::int64_t JobExecutor::overlap_of(std::span<const Plan> plans) {
  return plans.front().body(kFillBody) == nullptr ? 0 : static_cast<std::int64_t>(plans.size()) + 1;
}

void JobExecutor::tell(std::uint32_t rank, const Order& order) const { transport_.send(rank, kOrders, bytes_of(order)); }

void JobExecutor::tell_all(const Order& order) const {
  for (std::uint32_t rank = 1; rank < transport_.ranks(); ++rank) tell(rank, order);
}

Result<void> JobExecutor::serve(const BatchSource& batches, const BatchSource* evaluation) {
  while (true) {
    Order order;
    transport_.receive(0, kOrders, std::as_writable_bytes(std::span(&order, 1)));
    if (order.verb == Verb::kEnd) return {};
    if (auto done = carry_out(order, batches, evaluation); !done) return done;
  }
}

Result<void> JobExecutor::carry_out(const Order& order, const BatchSource& batches, const BatchSource* evaluation) {
  const auto kind = static_cast<TensorKind>(order.a);
  const GroupId group(static_cast<std::uint32_t>(order.b));
  switch (order.verb) {
    case Verb::kInitialize: own_.initialize(); break;
    case Verb::kShowState: show_state(kind, group); break;
    case Verb::kSetState: take_state(kind, group, order.c); break;
    case Verb::kRun: {
      RunSegment segment{.first_step = order.a, .steps = order.b, .fills = order.d != 0, .first_traced_step = order.c};
      if (overlap_ > 0) segment.growth = {overlap_, [this] { return told_more(); }};
      const auto part = run_stretch(segment, batches);
      return part ? Result<void>{} : fail(part.error());
    }
    case Verb::kEvaluate: {
      const auto found = own_.evaluate(*evaluation, order.a);
      return found ? Result<void>{} : fail(found.error());
    }
    case Verb::kMore:
    case Verb::kEnd: break;
  }
  return {};
}

void JobExecutor::end() { tell_all({Verb::kEnd}); }

void JobExecutor::initialize() {
  tell_all({Verb::kInitialize});
  own_.initialize();
}

void JobExecutor::show_state(TensorKind kind, GroupId group) const { transport_.send(0, kStates, own_.state(kind, group)); }

std::span<const std::byte> JobExecutor::state(TensorKind kind, GroupId group) const {
  const std::vector<OwnedPart> parts = owners_.parts(kind, group);
  if (parts.empty()) return {};
  if (parts.size() == 1 && parts[0].rank == 0) return own_.state(kind, group);
  whole_.resize(static_cast<std::size_t>(owners_.size(kind, group).count));
  if (parts.size() == 1) {
    tell(parts[0].rank, {Verb::kShowState, static_cast<std::int64_t>(kind), group.index});
    transport_.receive(parts[0].rank, kStates, whole_);
    return whole_;
  }
  const std::size_t size = whole_.size() / static_cast<std::size_t>(owners_.elements(group));
  for (const OwnedPart& part : parts) {
    const std::vector<std::byte> bytes = part_of_state(kind, group, part, size);
    for (const ElementRun& run : part.runs) {
      std::memcpy(whole_.data() + static_cast<std::size_t>(run.whole) * size,
                  bytes.data() + static_cast<std::size_t>(run.own) * size, static_cast<std::size_t>(run.count) * size);
    }
  }
  return whole_;
}

std::vector<std::byte> JobExecutor::part_of_state(TensorKind kind, GroupId group, const OwnedPart& part, std::size_t size) const {
  if (part.rank == 0) {
    const auto own = own_.state(kind, group);
    return {own.begin(), own.end()};
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.elements()) * size);
  tell(part.rank, {Verb::kShowState, static_cast<std::int64_t>(kind), group.index});
  transport_.receive(part.rank, kStates, bytes);
  return bytes;
}

void JobExecutor::take_state(TensorKind kind, GroupId group, std::int64_t bytes) {
  whole_.resize(static_cast<std::size_t>(bytes));
  transport_.receive(0, kStates, whole_);
  own_.set_state(kind, group, [&](std::span<std::byte> place) { std::copy(whole_.begin(), whole_.end(), place.begin()); });
}

void JobExecutor::set_state(TensorKind kind, GroupId group, const std::function<void(std::span<std::byte>)>& fill) {
  const std::vector<std::uint32_t> holders = owners_.holders(kind, group);
  if (holders.empty()) return;
  whole_.resize(static_cast<std::size_t>(owners_.size(kind, group).count));
  fill(whole_);
  for (const std::uint32_t rank : holders) {
    if (rank == 0) {
      own_.set_state(kind, group, [&](std::span<std::byte> place) { std::copy(whole_.begin(), whole_.end(), place.begin()); });
      continue;
    }
    tell(rank, {Verb::kSetState, static_cast<std::int64_t>(kind), group.index, static_cast<std::int64_t>(whole_.size())});
    transport_.send(rank, kStates, whole_);
  }
}

std::int64_t JobExecutor::told_more() const {
  Order order;
  transport_.receive(0, kOrders, std::as_writable_bytes(std::span(&order, 1)));
  return order.a;
}

std::int64_t JobExecutor::next_stretch(std::int64_t left) const {
  const double many = seconds_per_step_ > 0 ? kStretchSeconds / seconds_per_step_ : 1;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(many, 1e6)), 1, left);
}

Result<Trace> JobExecutor::run_stretch(const RunSegment& segment, const BatchSource& batches) {
  transport_.note_pause(false);
  const Nanoseconds origin = clock_now();
  RunSegment noted = segment;
  noted.on_step = [&](const StepSummary& step) {
    recorded_.steps.push_back(moved(step, origin));
    if (segment.on_step) segment.on_step(step);
  };
  auto part = own_.run_steps(noted, batches);
  transport_.note_pause(transport_.rank() == 0);
  if (!part) return part;
  seconds_per_step_ = to_seconds(clock_now() - origin) / static_cast<double>(std::max<std::size_t>(1, part->steps.size()));
  append_events(recorded_, moved(part->events, origin));
  recorded_.kind = part->kind;
  recorded_.source = part->source;
  return part;
}

Result<Trace> JobExecutor::run_steps(const RunSegment& segment, const BatchSource& batches) {
  Trace whole{.kind = TraceKind::kMeasured, .source = own_.source()};
  const std::int64_t end = segment.first_step + segment.steps;
  std::int64_t done = segment.first_step;
  while (done < end && (segment.stop == nullptr || !*segment.stop)) {
    const std::int64_t count = next_stretch(end - done);
    const Nanoseconds shift = whole.steps.empty() ? Nanoseconds(0) : whole.steps.back().end;
    const bool fills = segment.fills && done == segment.first_step;
    tell_all({Verb::kRun, done, count, segment.first_traced_step, fills ? 1 : 0});
    std::int64_t granted = done + count, ended = 0;
    const Nanoseconds begin = clock_now();
    RunSegment stretch{.first_step = done,
                       .steps = count,
                       .fills = fills,
                       .first_traced_step = segment.first_traced_step,
                       .on_step = [&](const StepSummary& step) {
                         seconds_per_step_ = to_seconds(clock_now() - begin) / static_cast<double>(++ended);
                         if (segment.on_step) segment.on_step(moved(step, shift));
                       }};
    const auto grant = [&]() -> std::int64_t {
      const bool ends = granted == end || (segment.stop != nullptr && *segment.stop);
      const std::int64_t more = ends ? 0 : next_stretch(end - granted);
      tell_all({Verb::kMore, more});
      granted += more;
      return more;
    };
    if (overlap_ > 0) stretch.growth = {overlap_, grant};
    auto part = run_stretch(stretch, batches);
    if (!part) return part;
    append_events(whole, moved(std::move(part->events), shift));
    for (const StepSummary& step : part->steps) whole.steps.push_back(moved(step, shift));
    done += static_cast<std::int64_t>(part->steps.size());
  }
  whole.peaks = own_.touched();
  return whole;
}

Result<HeldOut> JobExecutor::evaluate(const BatchSource& batches, std::int64_t count) {
  tell_all({Verb::kEvaluate, count});
  return own_.evaluate(batches, count);
}

Result<Trace> JobExecutor::migrate(const Plan&, const Plan&) {
  return fail({.kind = ErrorKind::kInput, .what = "ranks keep their plans", .where = {}, .remedy = {}});
}

}  // namespace plimsoll
