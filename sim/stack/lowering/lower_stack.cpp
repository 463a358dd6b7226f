#include "sim/stack/lowering/lower_stack.h"

#include <map>
#include <string>

#include "core/plan/expand.h"
#include "formats/plans/plan_json.h"
#include "sim/stack/lowering/allocation_events.h"
#include "sim/stack/lowering/launch_kernels.h"
#include "sim/stack/lowering/stack_platform.h"
#include "sim/stack/stack_run.h"
#include "sim/stack/step_time.h"

namespace plimsoll {
namespace {

/// "block" of "block 7": one name for all repetitions.
std::string stretch_name(const std::string& place) { return layer_of(place) < 0 ? place : place.substr(0, place.rfind(' ')); }

/// Writes the two bodies while the allocator runs along.
class StackWriter {
 public:
  StackWriter(LoweredStack& out, const StackRun& run, const StepTimeline& timeline, CachingAllocatorOptions allocator)
      : out_(out), run_(run), timeline_(timeline), events_(out.plan, run, allocator) {}

  void write() {
    while (events_.written() < run_.marks.steady) events_.write_next(flat_);
    out_.plan.bodies.push_back(folded("start"));
    curve_.note(Nanoseconds(0), events_.held());
    const auto& kernels = run_.kernels;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const LaunchSpan& span = timeline_.spans[i];
      if (span.lane == StepLane::kCompute || kernels[i].blocking) now_ = span.start;
      write_allocations(kernels[i].events);
      write_launch(kernels[i], i);
    }
    now_ = timeline_.time.step;
    write_allocations(run_.marks.last_step);
    out_.plan.bodies.push_back(folded("step"));
    out_.plan.arenas = {{.space = kStackDevice, .bytes = align_up(events_.highest(), kBufferAlignment)}};
    out_.memory = curve_.finish();
  }

 private:
  void write_allocations(std::size_t until) {
    while (events_.written() < until) {
      begin_stretch(run_.log->events()[events_.written()].place);
      events_.write_next(flat_);
      curve_.note(from_seconds(now_), events_.held());
    }
    for (std::size_t id = out_.trace.events.size(); id < flat_.size(); ++id) add_event(id, now_, now_);
  }

  void write_launch(const StackKernel& kernel, std::size_t index) {
    begin_stretch(kernel.place);
    const LaunchSpan& span = timeline_.spans[index];
    const LoweredLaunch lowered = lower_launch(kernel, slot_seconds(index));
    const auto known = kernels_.emplace(lowered.kernel, static_cast<std::uint32_t>(out_.plan.kernels.size()));
    if (known.second) out_.plan.kernels.push_back(lowered.kernel);
    flat_.list.instructions.push_back({.kind = lowered.kind, .phase = kernel.phase, .queue = queue_of(span.lane),
                                       .kernel = KernelId(known.first->second), .layer = layer_of(place(kernel.place))});
    flat_.micro_batches.push_back(0);
    add_event(flat_.size() - 1, span.start, span.end);
  }

  /// With the pause that a phase leaves between this kernel and the next.
  [[nodiscard]] double slot_seconds(std::size_t index) const {
    const LaunchSpan& span = timeline_.spans[index];
    return span.end - span.start + (span.lane == StepLane::kCompute ? timeline_.pauses[index] : 0);
  }

  void begin_stretch(std::uint32_t at) {
    if (at == place_ && !segments_.empty()) return;
    place_ = at;
    segments_.push_back({.first = static_cast<std::uint32_t>(flat_.size()), .micro_batch = 0, .layer = layer_of(place(at)),
                         .name = stretch_name(place(at))});
  }

  void add_event(std::size_t id, double start, double end) {
    out_.trace.events.push_back({.step = 0, .instruction = static_cast<std::uint32_t>(id), .start = from_seconds(start),
                                 .end = from_seconds(end), .status = EventStatus::kPredicted});
  }

  Body folded(const char* name) {
    if (segments_.empty() || segments_.front().first > 0) segments_.insert(segments_.begin(), Segment{.name = name});
    std::vector<Segment> kept;  // none is empty
    for (const Segment& segment : segments_) {
      if (!kept.empty() && kept.back().first == segment.first) kept.pop_back();
      if (segment.first < flat_.size()) kept.push_back(segment);
    }
    Body body = fold(out_.plan, name, flat_, kept);
    flat_ = {};
    segments_.clear();
    return body;
  }

  [[nodiscard]] const std::string& place(std::uint32_t at) const { return run_.places[at].what; }

  LoweredStack& out_;
  const StackRun& run_;
  const StepTimeline& timeline_;
  AllocationWriter events_;
  MemoryCurve curve_;
  FlatBody flat_;
  std::vector<Segment> segments_;
  std::map<Kernel, std::uint32_t> kernels_;
  std::uint32_t place_ = 0;
  double now_ = 0;
};

SpacePeak device_peak(const StackPrediction& prediction) {
  const StackCategories& held = prediction.at_peak;
  return {.space = kStackDevice, .bytes = prediction.peak.allocated,
          .by_category = {{TensorKind::kParameter, held.parameters}, {TensorKind::kGradient, held.gradients},
                          {TensorKind::kFirstMoment, held.optimizer}, {TensorKind::kActivation, held.activations},
                          {TensorKind::kWorkspace, held.workspace}}};
}

void finish_trace(LoweredStack& out, double step) {
  Trace& trace = out.trace;
  trace.kind = TraceKind::kPredicted;
  trace.plan_digest = plan_digest(out.plan);
  trace.source = "simulated: " + out.plan.strategy.name;
  trace.steps = {{.step = 0, .start = Nanoseconds(0), .end = from_seconds(step)}};
  trace.peaks = {device_peak(out.prediction)};
}

}  // namespace

Result<LoweredStack> lower_stack(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  const auto run = run_stack(spec, recipe, setup, gpu);
  if (!run) return fail(run.error());
  auto prediction = predict_run(*run, recipe, setup, gpu);
  if (!prediction) return fail(prediction.error());
  const auto launches = timed_launches(run->kernels, setup, recipe.precision, gpu);
  if (!launches) return fail(launches.error());
  LoweredStack out{.plan = {.spec = spec, .recipe = recipe, .platform = stack_platform(gpu, setup, run->room)}, .trace = {}, .memory = {},
                   .prediction = std::move(*prediction)};
  out.plan.strategy.name = stack_words(setup);
  CachingAllocatorOptions allocator{.expandable_segments = setup.expandable_segments};
  if (out.prediction.fits) allocator.limit = out.prediction.usable;
  const StepTimeline timeline = lay_out_step(*launches);
  StackWriter(out, *run, timeline, allocator).write();
  out.plan.arenas.push_back({.space = kStackContext, .bytes = run->room.context});
  finish_trace(out, timeline.time.step);
  return out;
}

}  // namespace plimsoll
