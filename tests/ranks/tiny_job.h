#pragma once

#include <catch2/catch.hpp>

#include <string>

#include "sim/planner/ranks/lower_ranks.h"
#include "sim/schedule/make_schedule.h"
#include "tests/support/tiny_training.h"

namespace plimsoll::test {

struct JobShape {
  std::string schedule = "1f1b";
  std::uint32_t ranks = 2;  ///< of the pipeline
  std::uint32_t micro_batches = 4;
  std::uint32_t replicas = 1;
  std::int64_t zero = 0;
  double clip = 1.0;
  std::int64_t layers = 8;
  Family family = Family::kGpt2;
  std::uint32_t tensor = 1;
  Precision precision = Precision::kFp32;
  ExpertSpec experts = {};
  std::uint32_t expert_ranks = 1;
  std::uint32_t context = 1;  ///< ranks that share a sequence, of each replica
  bool sequence_parallel = false;
  std::int64_t vocabulary = 128;
};

/// The tiny model as one job: eight blocks, so that up to four ranks of two chunks divide them.
inline RankJob tiny_job(const JobShape& shape) {
  auto schedule = make_schedule({.name = shape.schedule, .ranks = shape.ranks, .micro_batches = shape.micro_batches});
  if (!schedule) FAIL(schedule.error().text());
  RankJob job{.spec = tiny_spec(shape.family),
              .recipe = tiny_recipe(),
              .schedule = *schedule,
              .replicas = shape.replicas * shape.context,
              .context = shape.context,
              .tensor = shape.tensor,
              .sequence_parallel = shape.sequence_parallel,
              .zero = shape.zero};
  job.experts = shape.expert_ranks;
  job.spec.layers = shape.layers;
  job.spec.vocabulary = shape.vocabulary;
  job.spec.experts = shape.experts;
  job.recipe.accumulate = std::int64_t{shape.micro_batches} * shape.replicas;
  job.recipe.clip = shape.clip;
  job.recipe.precision = shape.precision;
  Link between;
  between.latency = Nanoseconds(10'000);
  between.bytes_per_second = 1e9;
  job.platform = rank_platform(tiny_machine(1), 1, between);
  job.bucket = Bytes(4096);
  return job;
}

inline std::vector<Plan> plans_of(const RankJob& job) {
  auto plans = lower_ranks(job);
  if (!plans) FAIL(plans.error().text());
  return std::move(*plans);
}

}  // namespace plimsoll::test
