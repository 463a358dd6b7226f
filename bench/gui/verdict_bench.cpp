// How long after a slider moved the window shows the verdict of the strategy at hand, and that of the full search; and
// for how long its event loop was ever blocked meanwhile. Without a screen. Writes JSON to standard output.
#include <QApplication>
#include <QDoubleSpinBox>
#include <QElapsedTimer>
#include <QTimer>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <iterator>
#include <vector>

#include "gui/app/main_window.h"
#include "gui/explore/explore_page.h"
#include "gui/explore/problem.h"
#include "gui/fields/step_field.h"

namespace {

using namespace plimsoll::gui;

constexpr int kMoves = 12;
constexpr int kTickMilliseconds = 2;

struct Case {
  const char* model;
  const char* gpu;
  const char* ram;
  double moves[2];  ///< GiB of RAM that the slider is moved between
};

struct Times {
  std::vector<double> first;  ///< milliseconds
  std::vector<double> full;
  double problem_cpu = 0;     ///< processor time of reading model and machine, and of the first look, on one thread
  double first_cpu = 0;
  double blocked = 0;         ///< the longest time between two turns of the event loop, less the tick
};

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Moves the slider once and waits until the search has answered.
void move(ExplorePage& page, StepField& slider, double value, Times& times) {
  QElapsedTimer clock;
  double first = -1, full = -1;
  const auto told = QObject::connect(&page, &ExplorePage::verdictShown, [&](bool searched) {
    (searched ? full : first) = static_cast<double>(clock.nsecsElapsed()) * 1e-6;
  });
  QElapsedTimer turn;
  QTimer tick;
  QObject::connect(&tick, &QTimer::timeout, [&] {
    times.blocked = std::max(times.blocked, static_cast<double>(turn.nsecsElapsed()) * 1e-6 - kTickMilliseconds);
    turn.restart();
  });
  clock.start();
  turn.start();
  tick.start(kTickMilliseconds);
  slider.box()->setValue(value);
  while (full < 0) QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 50);
  QObject::disconnect(told);
  if (first >= 0) times.first.push_back(first);
  times.full.push_back(full);
}

double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// The work behind a first verdict, whatever else the computer does meanwhile.
void measure_work(const ExplorePage& page, Times& times) {
  const Stop never = std::make_shared<const std::atomic<bool>>(false);
  const double start = cpu_milliseconds();
  const auto problem = make_problem(page.choices(), nullptr);
  times.problem_cpu = cpu_milliseconds() - start;
  const auto looked = first_look(*problem, page.verdict()->plan->plan.strategy, never);
  times.first_cpu = cpu_milliseconds() - start - times.problem_cpu;
  if (!looked) fmt::print(stderr, "{}\n", looked.error().text());
}

Times measure(const Case& one) {
  WindowOptions options{.choices = {{"model", one.model}, {"on", one.gpu}, {"ram", one.ram}}};
  options.screenshot = "-";  // settings are neither read nor written
  MainWindow window(options);
  window.show();
  auto& page = dynamic_cast<ExplorePage&>(*window.page("explore"));
  while (page.busy()) QCoreApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 50);
  auto& slider = *page.findChild<StepField*>("ram");
  Times times;
  for (int i = 0; i < kMoves; ++i) move(page, slider, one.moves[i % 2], times);
  measure_work(page, times);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication application(argc, argv);
  const Case cases[] = {{"gpt2-xl", "RTX 2060 6GB", "32GiB", {64, 32}},
                        {"gpt2-xl", "A100 80GB SXM4", "256GiB", {512, 256}},
                        {"gpt3-175b", "A100 80GB SXM4", "4096GiB", {3072, 4096}}};
  fmt::print("[\n");
  for (std::size_t i = 0; i < std::size(cases); ++i) {
    const Times times = measure(cases[i]);
    fmt::print("{{\"model\": \"{}\", \"gpu\": \"{}\", \"moves\": {}, \"first_ms_median\": {:.1f}, \"first_ms_p95\": {:.1f}, "
               "\"read_cpu_ms\": {:.1f}, \"first_look_cpu_ms\": {:.1f}, "
               "\"full_ms_median\": {:.1f}, \"full_ms_p95\": {:.1f}, \"longest_block_ms\": {:.1f}}}{}\n",
               cases[i].model, cases[i].gpu, kMoves, quantile(times.first, 0.5), quantile(times.first, 0.95), times.problem_cpu, times.first_cpu,
               quantile(times.full, 0.5), quantile(times.full, 0.95), times.blocked, i + 1 < std::size(cases) ? "," : "");
    std::fflush(stdout);
  }
  fmt::print("]\n");
  return 0;
}
