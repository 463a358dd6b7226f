#pragma once

#include <algorithm>
#include <cmath>

#include "tests/ranks/left_by_training.h"
#include "tests/ranks/tiny_team.h"

namespace plimsoll::test {

inline Left left_by(Executor& executor, const RankJob& job, std::int64_t steps) {
  const auto trace = executor.run_steps({.steps = steps}, kText);
  if (!trace) FAIL(trace.error().text());
  Left left;
  for (const StepSummary& step : trace->steps) {
    left.losses.push_back(step.loss);
    left.norms.push_back(step.gradient_norm);
  }
  for (std::size_t group = 0; group < lay_out_parameters(job.spec).groups.size(); ++group) {
    for (const TensorKind kind : {TensorKind::kParameter, TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
      const auto bytes = executor.state(kind, GroupId(group));
      left.states.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return left;
}

inline Left one_rank(const RankJob& job, std::int64_t steps) {
  Left left;
  alone(job, [&](Executor& executor) { left = left_by(executor, job, steps); });
  return left;
}

inline Left all_ranks(const RankJob& job, std::int64_t steps, std::uint64_t jitter = 0) {
  Left left;
  on_ranks(job, [&](JobExecutor& team) { left = left_by(team, job, steps); }, jitter);
  return left;
}

/// Of states in fp64: the largest distance of two elements.
inline double distance(const Left& a, const Left& b) {
  REQUIRE(a.states.size() == b.states.size());
  double most = 0;
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    REQUIRE(a.states[i].size() == b.states[i].size());
    const auto* left = reinterpret_cast<const double*>(a.states[i].data());
    const auto* right = reinterpret_cast<const double*>(b.states[i].data());
    for (std::size_t k = 0; k < a.states[i].size() / sizeof(double); ++k) most = std::max(most, std::abs(left[k] - right[k]));
  }
  return most;
}

inline void check_losses(const Left& many, const Left& one, double bound) {
  REQUIRE(many.losses.size() == one.losses.size());
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    CHECK(many.losses[i] == Approx(one.losses[i]).epsilon(bound));
    CHECK(many.norms[i] == Approx(one.norms[i]).epsilon(10 * bound));
  }
}

struct OneAndMany {
  Left one, many;
};

/// What these ranks compute in fp64 is what one rank computes, within rounding.
inline OneAndMany check_rounding(const RankJob& job, std::int64_t steps) {
  INFO(describe(job));
  OneAndMany left{.one = one_rank(job, steps), .many = all_ranks(job, steps)};
  check_losses(left.many, left.one, 1e-12);
  CHECK(distance(left.many, left.one) < 1e-9);
  return left;
}

/// These ranks go on from the state that they keep at `path` after two steps to the bit, and one rank within rounding.
inline void check_going_on(const RankJob& job, const std::string& path) {
  std::vector<double> further, rest;
  on_ranks(job, [&](JobExecutor& team) {
    losses_of(team, 0, 2);
    save(path, job, team, 2);
    rest = losses_of(team, 2, 2);
  });
  on_ranks(job, [&](JobExecutor& team) {
    load(path, job, team);
    further = losses_of(team, 2, 2);
  });
  CHECK(further == rest);
  alone(job, [&](Executor& executor) {
    load(path, job, executor);
    further = losses_of(executor, 2, 2);
  });
  CHECK(further[0] == Approx(rest[0]).epsilon(1e-6));
  CHECK(further[1] == Approx(rest[1]).epsilon(1e-5));
}

/// Ranks find on held-out data what one rank finds, within rounding.
inline void check_held_out(RankJob job) {
  job.evaluation = true;
  double one = 0, many = 0;
  const auto find = [](double& loss) {
    return [&loss](Executor& executor) {
      const auto found = executor.evaluate(kText, 3);
      if (!found) FAIL(found.error().text());
      loss = found->loss;
    };
  };
  alone(job, find(one));
  on_ranks(job, find(many));
  CHECK(one > 0);
  CHECK(many == Approx(one).epsilon(1e-6));
}

/// Random delays change no bit of what these ranks compute.
inline void check_delays(const RankJob& job) {
  const Left calm = all_ranks(job, 3);
  for (const std::uint64_t seed : {11u, 23u}) CHECK(all_ranks(job, 3, seed) == calm);
}

/// Two stages of such ranks give the bits of `flat`, which such ranks gave without stages.
inline void check_pipelines(const JobShape& shape, const Left& flat) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    INFO(schedule);
    JobShape piped = shape;
    piped.schedule = schedule;
    piped.ranks = 2;
    CHECK(all_ranks(tiny_job(piped), 3) == flat);
  }
}

inline std::string refusal(const RankJob& job) {
  const auto sound = check_job(job);
  return sound ? "" : sound.error().what;
}

}  // namespace plimsoll::test
