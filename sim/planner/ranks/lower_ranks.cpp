#include "sim/planner/ranks/lower_ranks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/model/expert_slice.h"
#include "core/model/tensor_slice.h"
#include "core/plan/fill_body.h"
#include "core/plan/order_conflicts.h"
#include "core/plan/order_ranks.h"
#include "core/plan/verify_plan.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {

std::string describe(const RankJob& job) {
  const std::string blocks =
      job.stage_blocks.empty() ? "" : fmt::format(" with {} blocks", fmt::join(job.stage_blocks, ","));
  const std::uint32_t count = job.micro_batches();
  if (job.schedule.goes_round())
    return fmt::format("{}{} over {} ranks, {} of each of {} stages{}, {} micro-batches", job.schedule.name,
                       job.schedule.weights == WeightRule::kVerticalSync ? " with vertical sync" : "", job.ranks(),
                       fmt::join(job.schedule.replicas, ","), job.schedule.stages, blocks, count);
  std::string text = fmt::format("{}{} over {} {} of {} stages{}, {} {}", job.schedule.name,
                                 job.schedule.weights == WeightRule::kVerticalSync ? " with vertical sync" : "",
                                 job.schedule.ranks(), job.schedule.ranks() == 1 ? "rank" : "ranks",
                                 job.schedule.stages, blocks, count, count == 1 ? "micro-batch" : "micro-batches");
  if (job.data_ranks() > 1) text += fmt::format(", {} replicas", job.data_ranks());
  if (job.context > 1) text += fmt::format(", sequences shared by {}", job.context);
  if (job.tensor > 1) text += fmt::format(", layers shared by {}", job.tensor);
  if (job.sequence_parallel) text += " by rows between them";
  if (job.experts > 1) text += fmt::format(", experts shared by {}", job.experts);
  if (job.zero > 0) text += fmt::format(", ZeRO-{}", job.zero);
  return text;
}

namespace {

void finish_body(Plan& plan, BodyWriter& writer, const char* name) {
  order_conflicts(plan, writer.body());
  plan.bodies.push_back(fold(plan, name, writer.body(), writer.segments()));
}

StageCut cut_of(const Graph& graph, const RankJob& job) {
  return job.stage_blocks.empty() ? cut_into_stages(graph, job.schedule.stages)
                                  : cut_into_stages(graph, job.stage_blocks);
}

/// What each of the ranks that share sequences computes. Gradients have sums, which go over the ranks, with one
/// micro-batch too. Where micro-batches go round a stage's ranks, an update takes in one of each of them.
Recipe recipe_of_slice(const RankJob& job, std::uint32_t place) {
  Recipe recipe = job.recipe;
  if (job.schedule.goes_round()) recipe.accumulate = job.replicas_of(place);
  recipe.sequence /= job.context;
  if (job.context > 1) recipe.accumulate = std::max<std::int64_t>(2, recipe.accumulate);
  return recipe;
}

}  // namespace

Result<Plan> lower_rank(const RankJob& job, std::uint32_t rank) {
  Plan plan{.spec = job.spec,
            .recipe = job.recipe,
            .platform = job.platform,
            .strategy = {.name = describe(job)},
            .rank = rank,
            .ranks = job.ranks()};
  const auto places = Places::find(job.platform, plan.strategy);
  if (!places) return fail(places.error());
  const Processor& compute = job.platform.at(job.platform.at(places->compute).processor);
  const std::int64_t workers = compute.kind == ProcessorKind::kCpu ? compute.cores : 0;
  const TensorShare experts = job.expert_share(job.replica_of(rank));
  const ModelSpec slice = experts_of_rank(slice_of_model(job.spec, job.tensor), experts);
  const Recipe recipe = recipe_of_slice(job, job.place_of(rank));
  const Graph graph = build_training_graph(slice, recipe, {.workers = workers});
  const StageCut cut = cut_of(graph, job);
  BufferBook book(plan);
  RankLowering lowering(job, rank, graph, cut, plan, book, *places);
  lowering.write_step();
  const Graph held_out = build_training_graph(slice, recipe, {.workers = workers, .evaluation = true});
  const StageCut held_out_cut = cut_of(held_out, job);
  book.next_body();
  RankLowering evaluation(lowering, held_out, held_out_cut);
  if (job.evaluation) evaluation.write_evaluation();
  book.next_body();
  RankLowering fill(lowering, graph, cut);
  if (!job.flushes()) fill.write_fill();
  book.place();
  finish_body(plan, lowering.writer(), "step");
  if (job.evaluation) finish_body(plan, evaluation.writer(), "evaluation");
  if (fill.writer().body().size() > 0) finish_body(plan, fill.writer(), kFillBody);
  return plan;
}

namespace {

Result<std::vector<Plan>> lower_all(const RankJob& job) {
  std::vector<Plan> plans;
  for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
    auto plan = lower_rank(job, rank);
    if (!plan) return fail(plan.error());
    if (const auto verified = verify_plan(*plan); !verified) {
      Error error = verified.error();
      error.where = fmt::format("rank {}, {}", rank, error.where);
      return fail(std::move(error));
    }
    plans.push_back(std::move(*plan));
  }
  for (const Body& body : plans[0].bodies) {
    if (const auto ordered = order_ranks(plans, body.name); !ordered) return fail(ordered.error());
  }
  return plans;
}

}  // namespace

Result<std::vector<Plan>> lower_ranks(const RankJob& job) {
  if (const auto sound = check_job(job); !sound) return fail(sound.error());
  auto plans = lower_all(job);
  if (plans || job.sent_for > 0) return plans;
  RankJob apart = job;
  apart.sent_for = 2 * 3 * job.schedule.stages * job.schedule.micro_batches;  // more than all passes
  return lower_all(apart);
}

}  // namespace plimsoll
