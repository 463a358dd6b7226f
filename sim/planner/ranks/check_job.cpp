#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "core/graph/buildable.h"
#include "core/graph/optimizer_state.h"
#include "core/schedule/verify_schedule.h"
#include "sim/planner/ranks/rank_job.h"

namespace plimsoll {
namespace {

constexpr std::uint64_t kLongestRound = 256;  ///< micro-batches of a step, each written out in the plans

tl::unexpected<Error> refuse(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// Numbers up to `most` that divide `whole`, as text.
std::string divisors(std::int64_t whole, std::int64_t most) {
  std::string text;
  for (std::int64_t n = 1; n <= std::min(whole, most); ++n) {
    if (whole % n == 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", n);
  }
  return text;
}

Result<void> check_stages(const RankJob& job) {
  const std::int64_t stages = job.schedule.stages;
  const std::vector<std::uint32_t>& blocks = job.stage_blocks;
  if (!blocks.empty()) {
    const std::string asked = fmt::format("--stage-blocks {}", fmt::join(blocks, ","));
    if (std::int64_t(blocks.size()) != stages)
      return refuse(fmt::format("{}: {} counts for {} stages", asked, blocks.size(), stages),
                    "give one count for each stage");
    const std::int64_t all = std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0});
    if (std::find(blocks.begin(), blocks.end(), 0u) != blocks.end())
      return refuse(fmt::format("{}: a stage without a block", asked), "a stage has 1 or more");
    if (all == job.spec.blocks()) return {};
    return refuse(fmt::format("{}: {} blocks, and {} has {}", asked, all, job.spec.name, job.spec.blocks()),
                  fmt::format("let them sum up to {}", job.spec.blocks()));
  }
  if (stages > 0 && job.spec.blocks() % stages == 0) return {};
  return refuse(fmt::format("the {} blocks of {} do not divide into {} equal stages ({} over {} ranks)",
                            job.spec.blocks(), job.spec.name, stages, job.schedule.name, job.schedule.ranks()),
                fmt::format("take a number of stages that divides them: {}, or say --stage-blocks",
                            divisors(job.spec.blocks(), 64)));
}

Result<void> check_schedule(const RankJob& job) {
  if (auto sound = verify_schedule(job.schedule); !sound) return fail(sound.error());
  const std::vector<RankId> cells = rank_of_cells(job.schedule);
  for (std::uint32_t stage = 0; stage < job.schedule.stages; ++stage) {
    for (std::uint32_t m = 1; m < job.schedule.micro_batches; ++m) {
      const std::size_t first = job.schedule.cell(StageId(stage), MicroBatchId(0));
      if (cells[first] == cells[first + m] || job.schedule.goes_round()) continue;
      return refuse(
          fmt::format("schedule '{}' keeps stage {} on several ranks, which run cannot do yet", job.schedule.name, stage),
          "schedule and simulate know it");
    }
  }
  if (!job.schedule.moves.empty()) {
    return refuse(fmt::format("schedule '{}' moves activations between ranks, which run cannot do yet", job.schedule.name),
                  "schedule and simulate know it");
  }
  return {};
}

/// Where each stage has a number of ranks of its own.
Result<void> check_rounds(const RankJob& job) {
  if (!job.schedule.goes_round()) return {};
  const std::string counts = fmt::format("--stage-replicas {}", fmt::join(job.schedule.replicas, ","));
  const std::uint64_t round = common_round(job.schedule.replicas);
  if (round > kLongestRound)
    return refuse(fmt::format("{}: the rounds of the stages end together after {} micro-batches only", counts, round),
                  fmt::format("take counts with a common multiple of {} at most", kLongestRound));
  const std::pair<bool, const char*> missing[] = {
      {job.replicas > 1, "--dp or --cp: it says itself how many replicas there are"},
      {job.zero > 0, "--zero, which divides over replicas of all stages"}};
  for (const auto& [asked, what] : missing) {
    if (asked) return refuse(fmt::format("{} cannot go with {}", counts, what), "leave one out");
  }
  if (job.spec.tied_head)
    return refuse(
        fmt::format("{} cannot go with a head tied to the embedding: stages of different rounds would update it",
                    counts),
        "take a model without, as with tied=false");
  return {};
}

/// Several versions of the weights are kept where each stage updates what it has, as published.
Result<void> check_versions(const RankJob& job) {
  if (job.flushes()) return {};
  if (job.schedule.stages != job.places())
    return refuse(fmt::format("schedule '{}' without a flush runs with one stage a rank", job.schedule.name));
  if (job.zero > 0)
    return refuse(fmt::format("--zero divides states between replicas, which schedule '{}' cannot do yet", job.schedule.name),
                  "leave --zero out");
  if (job.tensor > 1)
    return refuse(fmt::format("--tp shares layers between ranks, which schedule '{}' cannot do yet", job.schedule.name),
                  "leave --tp out, or take 1f1b");
  if (job.spec.experts.count > 0)
    return refuse(fmt::format("schedule '{}' cannot train a mixture of experts yet", job.schedule.name), "take 1f1b");
  const bool each = job.schedule.weights != WeightRule::kDoubleBuffered;
  if (each && job.recipe.clip > 0)
    return refuse(fmt::format("in schedule '{}' a stage updates before the others know their gradients, so there is no norm of "
                              "all to clip by",
                              job.schedule.name),
                  "--clip 0");
  return {};
}

/// Rules that treat every element alike may be divided anywhere.
bool is_divisible(OptimizerKind optimizer) {
  return optimizer == OptimizerKind::kSgd || optimizer == OptimizerKind::kMomentum || optimizer == OptimizerKind::kAdam ||
         optimizer == OptimizerKind::kAdamW || optimizer == OptimizerKind::kLion;
}

Result<void> check_training(const RankJob& job) {
  const std::pair<bool, const char*> missing[] = {{job.recipe.adapter.exists(), "adapters"},
                                                  {scales_loss(job.recipe.precision), "a scaled loss (fp16)"},
                                                  {job.recipe.delay > 0, "delayed updates"}};
  for (const auto& [asked, what] : missing) {
    if (asked) return refuse(fmt::format("several ranks cannot train with {} yet", what), "run it on one rank");
  }
  if (job.zero < 0 || job.zero > 3) return refuse(fmt::format("--zero is 0 to 3, not {}", job.zero));
  if (job.zero > 0 && job.replicas == 1)
    return refuse(fmt::format("--zero {} divides over replicas, and there is one", job.zero), "add --dp");
  if (job.zero > 0 && !is_divisible(job.recipe.optimizer))
    return refuse(fmt::format("--zero {} divides groups between elements, which this optimizer's rule cannot", job.zero),
                  "--optimizer adamw");
  const auto micro_batches = std::int64_t{job.micro_batches()} * job.data_ranks();
  if (job.recipe.accumulate == micro_batches) return {};
  return refuse(fmt::format("the recipe has {} micro-batches a step, and {} replicas pass {} each", job.recipe.accumulate,
                            job.data_ranks(), job.micro_batches()));
}

bool on_gpu(const Platform& platform) {
  return std::any_of(platform.processors.begin(), platform.processors.end(),
                     [](const Processor& processor) { return processor.kind == ProcessorKind::kGpu; });
}

/// Each rank has so many positions of every sequence, and its queries meet the keys of those before.
Result<void> check_context(const RankJob& job) {
  if (job.context == 0 || job.replicas % job.context != 0) return refuse("--cp is 1 or more");
  if (job.context == 1) return {};
  const std::int64_t sequence = job.recipe.sequence;
  if (sequence % job.context != 0)
    return refuse(fmt::format("--cp {}: sequences of {} tokens do not divide by it", job.context, sequence),
                  fmt::format("take one that divides them, {}, or another --seq", divisors(sequence, 64)));
  const ModelSpec& spec = job.spec;
  const std::pair<bool, const char*> missing[] = {
      {!spec.causal, "attention to later tokens, whose keys do not come round"},
      {spec.head != HeadKind::kNextToken || spec.reads_images(), "a head that is not of the next token"},
      {spec.positions == PositionKind::kAlibi, "ALiBi positions"},
      {spec.experts.count > 0, "a mixture of experts, whose capacities are of whole sequences"},
      {!job.flushes(), "schedules without a flush"},
      {on_gpu(job.platform), "GPUs, which have no kernel for a step of the ring"}};
  for (const auto& [asked, what] : missing) {
    if (asked) return refuse(fmt::format("--cp {} cannot go with {} yet", job.context, what), "leave --cp out");
  }
  return {};
}

Result<void> check_divides(const RankJob& job, std::int64_t number, const char* what) {
  if (number % job.tensor == 0) return {};
  return refuse(fmt::format("--tp {}: the {} {} of {} do not divide by it", job.tensor, number, what, job.spec.name),
                fmt::format("take one that divides them: {}", divisors(number, 64)));
}

/// Between the products each of the ranks that share layers has as many rows of the stream.
Result<void> check_rows(const RankJob& job) {
  if (!job.sequence_parallel) return {};
  if (job.tensor <= 1)
    return refuse("--sequence-parallel divides rows among ranks that share layers, and there is one", "add --tp");
  const std::int64_t rows = job.recipe.tokens_per_micro_batch() / std::max<std::uint32_t>(1, job.context);
  if (rows % job.tensor != 0)
    return refuse(fmt::format("--sequence-parallel: {} tokens of a micro-batch do not divide by --tp {}", rows, job.tensor),
                  "take another --batch or --seq");
  if (job.spec.experts.count > 0)
    return refuse("--sequence-parallel cannot go with a mixture of experts yet", "leave --sequence-parallel out");
  return {};
}

/// Blocks behind an encoder read what it made, wherever they are.
Result<void> check_two_stacks(const RankJob& job) {
  if (!job.spec.has_encoder_and_decoder()) return {};
  const std::pair<bool, const char*> missing[] = {
      {job.schedule.stages > 1, "--pp"}, {job.tensor > 1, "--tp"}, {job.context > 1, "--cp"}};
  for (const auto& [asked, what] : missing) {
    if (asked)
      return refuse(fmt::format("{} cannot go with an encoder and its decoder yet", what),
                    "use --dp, with --zero where memory is short");
  }
  return {};
}

/// What has to be whole on each of the ranks that share layers.
Result<void> check_slices(const RankJob& job) {
  if (job.tensor == 0) return refuse("--tp is 1 or more");
  if (job.tensor == 1) return {};
  const ModelSpec& spec = job.spec;
  const bool mixture = spec.experts.count > 0;
  const std::pair<std::int64_t, const char*> divided[] = {{spec.heads, "heads"},
                                                          {spec.kv_heads, "key-value heads"},
                                                          {spec.ffn, "columns of the feed-forward layer"},
                                                          {mixture ? spec.expert_width() : 0, "columns of the experts"}};
  for (const auto& [number, what] : divided) {
    if (auto divides = check_divides(job, number, what); !divides) return divides;
  }
  const std::pair<bool, const char*> missing[] = {
      {mixture && spec.experts.dropout > 0, "dropout in experts, which draws by their width"},
      {spec.qk_norm, "norms of queries and keys, whose weights all heads share"},
      {spec.norms_behind(), "norms behind the halves of a block, which read whole rows of a sum"},
      {spec.positions == PositionKind::kAlibi, "ALiBi positions, whose slopes count all heads"},
      {!is_divisible(job.recipe.optimizer), "an optimizer that looks at whole tensors"},
      {std::min(spec.ffn, spec.expert_width()) == job.tensor, "a feed-forward layer of one column each"}};
  for (const auto& [asked, what] : missing) {
    if (asked) return refuse(fmt::format("--tp {} cannot go with {} yet", job.tensor, what), "leave --tp out");
  }
  return {};
}

/// Where ranks share the experts of a mixture.
Result<void> check_experts(const RankJob& job) {
  if (job.experts == 0) return refuse("--ep is 1 or more");
  if (job.experts == 1) return {};
  const std::int64_t count = job.spec.experts.count;
  if (count == 0) return refuse(fmt::format("--ep {}: {} has no experts", job.experts, job.spec.name), "leave --ep out");
  if (count % job.experts != 0)
    return refuse(fmt::format("--ep {}: the {} experts of {} do not divide by it", job.experts, count, job.spec.name),
                  fmt::format("take one that divides them: {}", divisors(count, 64)));
  if (job.replicas % job.experts != 0)
    return refuse(fmt::format("--ep {}: the {} replicas of --dp do not divide by it", job.experts, job.replicas),
                  "replicas share the experts: take a --dp that --ep divides");
  const bool splits = std::any_of(job.schedule.orders.begin(), job.schedule.orders.end(), [](const auto& order) {
    return std::any_of(order.begin(), order.end(), [](const PipelineOp& op) { return op.work == PipelineWork::kInputGradient; });
  });
  const std::pair<bool, std::string> missing[] = {
      {job.tensor > 1, fmt::format("--tp {}", job.tensor)},
      {job.spec.experts.dropout > 0, "dropout in experts, which draws by their rows"},
      {!is_divisible(job.recipe.optimizer), "an optimizer that looks at whole tensors"},
      {splits, fmt::format("schedule '{}', which puts weights' gradients off", job.schedule.name)}};
  for (const auto& [asked, what] : missing) {
    if (asked) return refuse(fmt::format("--ep {} cannot go with {} yet", job.experts, what), "leave one out");
  }
  return {};
}

}  // namespace

Result<void> check_job(const RankJob& job) {
  if (auto buildable = check_buildable(job.spec, job.recipe); !buildable) return buildable;
  for (const auto check : {check_rounds, check_context, check_training, check_two_stacks, check_slices, check_rows,
                           check_experts, check_stages, check_schedule, check_versions}) {
    if (auto sound = check(job); !sound) return sound;
  }
  return {};
}

Platform rank_platform(const Platform& computer, std::uint32_t ranks, const Link& between) {
  Platform platform = computer;
  const auto is_own = [&](std::size_t space) {  // a GPU is one rank's alone
    return std::any_of(computer.processors.begin(), computer.processors.end(), [&](const Processor& processor) {
      return processor.kind == ProcessorKind::kGpu && processor.space.index == space;
    });
  };
  for (std::size_t i = 0; i < platform.spaces.size(); ++i) {
    MemorySpace& space = platform.spaces[i];
    if (is_own(i)) continue;
    space.capacity = Bytes(space.capacity.count / ranks);
    space.usable = Bytes(space.usable.count / ranks);
  }
  const auto device = platform.space(SpaceKind::kDevice);
  platform.spaces.push_back({.name = "other ranks", .kind = SpaceKind::kHost});
  Link link = between;
  link.name = kRanksLink;
  link.from = device.value_or(SpaceId(0));
  link.to = SpaceId(platform.spaces.size() - 1);
  platform.links.push_back(std::move(link));
  return platform;
}

}  // namespace plimsoll
