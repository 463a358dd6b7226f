// How long a long trace takes to open and a frame of it to draw, without a screen:
//   QT_QPA_PLATFORM=offscreen timeline_bench [EVENTS] [FOLDER]
// A simulated step is repeated until there are so many events; they are written to a run file in FOLDER, read as the window
// reads it, and drawn at 1920 x 1080 at every zoom from all to a hundred-thousandth, at places drawn with a fixed seed.

#include <QApplication>
#include <QPainter>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "formats/plans/plan_json.h"
#include "formats/runs/run_file_writer.h"
#include "gui/timeline/build_timeline.h"
#include "gui/timeline/open_run_file.h"
#include "gui/timeline/timeline_view.h"
#include "sim/cost/catalogue_cost_model.h"
#include "sim/des/simulate.h"
#include "sim/planner/lower_to_plan.h"
#include "core/base/digest.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace {

using namespace plimsoll;
using namespace plimsoll::gui;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Plan bench_plan() {
  const Strategy strategy{.recompute_every = 1, .optimizer = Tier::kHost, .gradients = Tier::kHost};
  return lower_to_plan(test::small_model(Family::kGpt2, 24), test::small_recipe(2), test::tiny_platform(), strategy).value();
}

/// The steady step of a simulation, over and over.
Trace repeated(const Plan& plan, std::size_t events) {
  const Trace simulated = simulate(plan, "step", CatalogueCostModel(), {.steps = 3}).value();
  const StepSummary steady = simulated.steps[1];
  std::vector<TraceEvent> one;
  std::copy_if(simulated.events.begin(), simulated.events.end(), std::back_inserter(one),
               [](const TraceEvent& e) { return e.step == 1; });
  Nanoseconds length = steady.duration();
  for (const TraceEvent& event : one) length = std::max(length, event.end - steady.start);  // so that steps do not overlap
  Trace trace{.kind = TraceKind::kMeasured, .source = "bench"};
  trace.events.reserve(events);
  for (std::uint32_t step = 0; trace.events.size() + one.size() <= events; ++step) {
    const Nanoseconds later(length.count * step - one.front().start.count);
    for (TraceEvent event : one) {
      event.step = step;
      event.start += later;
      event.end += later;
      trace.events.push_back(event);
    }
    trace.steps.push_back(
        {.step = step, .start = Nanoseconds(length.count * step), .end = Nanoseconds(length.count * (step + 1))});
  }
  return trace;
}

void write_run(const std::string& path, Plan plan, Trace trace) {
  std::filesystem::remove(path);
  RunFileWriter writer(path, {.kind = "bench"});
  const std::string digest = digest_of(write_plan(plan));
  trace.plan_digest = digest;
  writer.add_plan("run", std::move(plan));
  writer.add_trace({.name = "run", .body = "step", .trace = std::move(trace)});
  writer.close();
}

struct Frames {
  double median = 0;
  double p95 = 0;
  double worst = 0;
};

Frames draw(TimelineView& view, double share) {
  constexpr int kFrames = 60;
  std::mt19937 random(1);
  std::vector<double> times;
  QImage target(1920, 1080, QImage::Format_RGB32);
  const TimeBounds bounds = view.scene().bounds;
  const double span = (bounds.end - bounds.begin) * share;
  for (int frame = 0; frame < kFrames; ++frame) {
    const double at = bounds.begin + (bounds.end - bounds.begin - span) * std::uniform_real_distribution<>(0, 1)(random);
    view.show_range(at, at + span * (share == 1 ? 1 - 1e-6 * (frame + 1) : 1));  // never the frame before
    const Clock::time_point begin = Clock::now();
    QPainter painter(&target);
    view.paint_on(painter);
    times.push_back(milliseconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  return {times[kFrames / 2], times[kFrames * 95 / 100], times.back()};
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  const auto events = static_cast<std::size_t>(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000);
  const std::string path = std::string(argc > 2 ? argv[2] : ".") + "/bench.plimsoll";
  const Plan plan = bench_plan();
  write_run(path, plan, repeated(plan, events));
  Clock::time_point begin = Clock::now();
  const auto opened = open_run_file(path);
  if (!opened) return std::fprintf(stderr, "%s\n", opened.error().text().c_str()), 1;
  const double open = milliseconds_since(begin);
  const SharedTimeline timeline = opened->front().timeline;
  TimelineView view;
  view.resize(1920, 1080);
  begin = Clock::now();
  view.set_scene(lay_out({{timeline, 0, ""}}));
  QImage first(1920, 1080, QImage::Format_RGB32);
  QPainter painter(&first);
  view.paint_on(painter);
  painter.end();
  std::printf("%zu events: open %.0f ms, first picture %.0f ms more, %.1f bytes an event\n", timeline->event_count(), open,
              milliseconds_since(begin),
              static_cast<double>(timeline->event_bytes()) / static_cast<double>(timeline->event_count()));
  std::printf("%12s %10s %10s %10s\n", "shown", "median ms", "p95 ms", "worst ms");
  for (const double share : {1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5}) {
    const Frames frames = draw(view, share);
    std::printf("%12g %10.2f %10.2f %10.2f\n", share, frames.median, frames.p95, frames.worst);
  }
  std::filesystem::remove(path);
  return 0;
}
