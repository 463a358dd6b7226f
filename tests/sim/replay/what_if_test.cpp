#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sim/replay/replay.h"

namespace plimsoll::test {
namespace {

constexpr std::int64_t kLatency = 3000;  ///< from a launch's end to its kernel
constexpr std::int64_t kGap = 1200;      ///< between kernels of a stream
constexpr std::int64_t kHandover = 1500;

/// What a host does, drawn once and run as often as one likes.
struct Step {
  enum Kind { kLaunch, kWait, kSynchronize } kind = kLaunch;
  std::int64_t pause = 0;
  std::int64_t call = 0;
  std::int64_t stream = 0;
  std::int64_t other = 0;  ///< a wait: for what was launched there so far
  std::int64_t time = 0;
  bool product = false;
};

/// Compute on stream 0, copies and collectives on others, which wait for it and it for them; a synchronization now and then.
std::vector<Step> draw_program(std::uint32_t seed, int streams) {
  std::mt19937 random(seed);
  const auto draw = [&](std::int64_t low, std::int64_t high) { return low + static_cast<std::int64_t>(random()) % (high - low); };
  const std::int64_t slow_host = draw(1000, 60'000);
  std::vector<Step> steps;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t what = draw(0, 100);
    const std::int64_t a = draw(0, streams);
    if (what < 12 && streams > 1) {
      steps.push_back({.kind = Step::kWait,
                       .pause = draw(500, 3000),
                       .call = 1000,
                       .stream = a,
                       .other = (a + 1 + draw(0, streams - 1)) % streams});
    } else if (what < 13) {
      steps.push_back({.kind = Step::kSynchronize, .pause = 1000});
    } else {
      steps.push_back({.kind = Step::kLaunch,
                       .pause = draw(500, slow_host),
                       .call = draw(3000, 6000),
                       .stream = what < 75 ? 0 : a,
                       .time = draw(2000, 120'000),
                       .product = draw(0, 2) == 0});
    }
  }
  steps.push_back({.kind = Step::kSynchronize});
  return steps;
}

/// Runs programs by the rules of CUDA, written down independently of the replay.
class ProgramRun {
 public:
  ProgramRun(int streams, double factor, bool waits_recorded)
      : factor_(factor),
        waits_recorded_(waits_recorded),
        thread_(recording_.thread(1, 1)),
        free_(static_cast<std::size_t>(streams), -kGap),
        wait_(static_cast<std::size_t>(streams), 0) {}

  Recording run(const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      now_ += step.pause;
      if (step.kind == Step::kLaunch) launch(step);
      if (step.kind == Step::kWait) wait(step);
      if (step.kind == Step::kSynchronize) synchronize();
    }
    recording_.sort();
    return std::move(recording_);
  }

 private:
  void call(const char* name, std::int64_t time) {
    recording_.calls.push_back({.start = Nanoseconds(now_),
                                .end = Nanoseconds(now_ + time),
                                .correlation = ++correlation_,
                                .name = recording_.names.add(name),
                                .thread = thread_});
    now_ += time;
  }

  void launch(const Step& step) {
    const auto s = static_cast<std::size_t>(step.stream);
    call("cudaLaunchKernel", step.call);
    const std::int64_t start = std::max({now_ + kLatency, free_[s] + kGap, wait_[s]});
    free_[s] = start + std::llround(static_cast<double>(step.time) * (step.product ? factor_ : 1.0));
    recording_.work.push_back({.start = Nanoseconds(start),
                               .end = Nanoseconds(free_[s]),
                               .correlation = correlation_,
                               .on = {1, 0, 1, step.stream},
                               .name = recording_.names.add(step.product ? "gemm" : "other")});
  }

  void wait(const Step& step) {
    const auto s = static_cast<std::size_t>(step.stream), other = static_cast<std::size_t>(step.other);
    call("cudaEventRecord", step.call);
    const std::uint64_t record = correlation_;
    call("cudaStreamWaitEvent", step.call);
    wait_[s] = std::max(wait_[s], free_[other] + kHandover);
    if (!waits_recorded_) return;
    recording_.waits.push_back({.start = Nanoseconds(now_ - step.call),
                                .end = Nanoseconds(now_),
                                .correlation = correlation_,
                                .event_correlation = record,
                                .on = {1, 0, 1, step.stream},
                                .event_stream = step.other,
                                .kind = WaitKind::kStreamWaitsEvent});
  }

  void synchronize() {
    const std::int64_t ended = *std::max_element(free_.begin(), free_.end());
    call("cudaDeviceSynchronize", std::max<std::int64_t>(0, ended - now_) + 2000);
  }

  double factor_;
  bool waits_recorded_;
  Recording recording_;
  std::uint32_t thread_;
  std::vector<std::int64_t> free_, wait_;  ///< of each stream
  std::int64_t now_ = 0;
  std::uint64_t correlation_ = 0;
};

/// With its products `factor` times as long.
Recording run_program(const std::vector<Step>& steps, int streams, double factor, bool waits_recorded) {
  return ProgramRun(streams, factor, waits_recorded).run(steps);
}

/// (predicted − what happens) ÷ what happens, for each of many programs.
std::vector<double> errors_of(double factor, bool waits_recorded) {
  std::vector<double> errors;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const int streams = 1 + static_cast<int>(seed % 5);
    const std::vector<Step> program = draw_program(seed, streams);
    const Recording before = run_program(program, streams, 1, waits_recorded);
    const Recording after = run_program(program, streams, factor, waits_recorded);
    const auto replayed = replay(before, {.scales = {{.part = ReplayPart::kKernel, .pattern = "gemm", .factor = factor}}});
    REQUIRE(replayed);
    const Nanoseconds happens = span_of(after).second - span_of(after).first;
    errors.push_back(static_cast<double>((replayed->predicted - happens).count) / static_cast<double>(happens.count));
  }
  return errors;
}

double mean_of(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += std::fabs(error);
  return sum / static_cast<double>(errors.size());
}

double worst_of(const std::vector<double>& errors) {
  double worst = 0;
  for (const double error : errors) worst = std::max(worst, std::fabs(error));
  return worst;
}

}  // namespace

TEST_CASE("a random program on up to five streams replays as it ran") {
  for (const bool recorded : {true, false}) {
    const auto errors = errors_of(1, recorded);
    INFO("mean " << mean_of(errors) << ", worst " << worst_of(errors));
    CHECK(mean_of(errors) < 0.002);
    CHECK(worst_of(errors) < 0.01);
  }
}

TEST_CASE("what a random program would do is what it does when it is run anew") {
  for (const double factor : {0.3, 0.7, 2.0}) {
    const auto errors = errors_of(factor, true);
    INFO("products times " << factor << ": mean " << mean_of(errors) << ", worst " << worst_of(errors));
    CHECK(mean_of(errors) < 0.01);
    CHECK(worst_of(errors) < 0.03);
  }
}

TEST_CASE("waits that nobody recorded are found well enough for what-ifs") {
  for (const double factor : {0.7, 2.0}) {
    const auto errors = errors_of(factor, false);
    INFO("products times " << factor << ": mean " << mean_of(errors) << ", worst " << worst_of(errors));
    CHECK(mean_of(errors) < 0.03);
    CHECK(worst_of(errors) < 0.15);
  }
}

}  // namespace plimsoll::test
