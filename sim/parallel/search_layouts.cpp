#include "sim/parallel/search_layouts.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/parallel/piece_table.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMostMicroBatch = 64;
constexpr std::int64_t kMostTokens = 131072;  ///< of a rank's micro-batch of more than one sequence
constexpr std::int64_t kMostChunks = 8;
constexpr std::int64_t kLeastPart = 4096;     ///< tokens of a sequence that a rank keeps, where nobody says how many share it
constexpr std::int64_t kMostZeroBubble = 64;  ///< stages: longer pipelines' hand-made orders are not looked at

template <typename Value>
std::vector<Value> said_or(const std::optional<Value>& said, std::vector<Value> open) {
  return said ? std::vector<Value>{*said} : std::move(open);
}

std::vector<std::int64_t> powers_up_to(std::int64_t most) {
  std::vector<std::int64_t> powers;
  for (std::int64_t power = 1; power <= most; power *= 2) powers.push_back(power);
  return powers;
}

std::vector<std::int64_t> divisors(std::int64_t whole, std::int64_t most) {
  std::vector<std::int64_t> found;
  for (std::int64_t d = 1; d <= std::min(whole, most); ++d) {
    if (whole % d == 0) found.push_back(d);
  }
  return found;
}

/// Writes candidates down, one degree after another.
class Candidates {
 public:
  Candidates(const ParallelQuestion& question, const LayoutRequest& request) : question_(question), request_(request) {
    base_.context = request.context;
    base_.tensor_layout = request.tensor_layout;
    base_.tensor_depth = request.tensor_depth;
    base_.overlaps_gradients = request.overlaps_gradients;
    base_.overlaps_tensor = request.overlaps_tensor;
    base_.global_batch = request.global_batch.value_or(question.cluster.gpus * request.micro_batch.value_or(1));
  }

  std::vector<ParallelLayout> all() {
    for (const std::int64_t tensor : said_or(request_.tensor_ranks, tensor_degrees())) {
      base_.tensor_ranks = tensor;
      for (const std::int64_t stages :
           said_or(request_.stages, divisors(question_.spec.layers, question_.cluster.gpus))) {
        base_.stages = stages;
        for (const std::int64_t parts : said_or(request_.context_ranks, context_degrees())) {
          base_.context_ranks = parts;
          if (question_.cluster.gpus % (tensor * stages * parts) == 0) data_ranks(question_.cluster.gpus / (tensor * stages * parts));
        }
      }
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool in_grid() const { return base_.tensor_layout != TensorLayout::kLine; }

  /// Powers of two within a node; of squares and cubes, those of up to eight nodes.
  [[nodiscard]] std::vector<std::int64_t> tensor_degrees() const {
    const std::int64_t node = question_.cluster.node_gpus;
    if (!in_grid()) return powers_up_to(node);
    std::vector<std::int64_t> degrees;
    for (std::int64_t ranks = 1; ranks <= std::min(question_.cluster.gpus, 8 * node); ++ranks) {
      if (validate(DeviceGrid{base_.tensor_layout, ranks, base_.tensor_depth})) degrees.push_back(ranks);
    }
    return degrees;
  }

  /// Powers of two that leave each rank an early and a late part of a long sequence.
  [[nodiscard]] std::vector<std::int64_t> context_degrees() const {
    if (in_grid()) return {1};
    std::vector<std::int64_t> degrees = powers_up_to(std::max<std::int64_t>(1, question_.recipe.sequence / kLeastPart));
    std::erase_if(degrees, [&](std::int64_t ranks) { return ranks > 1 && question_.recipe.sequence % (2 * ranks) != 0; });
    return degrees;
  }

  void data_ranks(std::int64_t left) {
    base_.data_ranks = request_.data_ranks.value_or(left);
    for (const std::int64_t experts : said_or(request_.expert_ranks, expert_degrees())) {
      base_.expert_ranks = experts;
      micro_batches();
    }
  }

  /// Powers of two among the data ranks; under two-level gating the groups are of ranks that somebody names.
  [[nodiscard]] std::vector<std::int64_t> expert_degrees() const {
    const std::int64_t count = question_.spec.experts.count;
    if (count == 0 || question_.choices.groups) return {1};
    std::vector<std::int64_t> degrees = powers_up_to(std::min(count, base_.data_ranks));
    std::erase_if(degrees, [&](std::int64_t ranks) { return count % ranks != 0 || base_.data_ranks % ranks != 0; });
    return degrees;
  }

  void micro_batches() {
    const std::int64_t each = base_.global_batch / base_.data_ranks;
    const std::int64_t fill = std::max<std::int64_t>(1, kMostTokens * base_.context_ranks / std::max<std::int64_t>(1, question_.recipe.sequence));
    for (const std::int64_t micro : said_or(request_.micro_batch, powers_up_to(std::min({kMostMicroBatch, each, fill})))) {
      base_.micro_batch = micro;
      for (const std::int64_t chunks : said_or(
               request_.chunks, divisors(question_.spec.layers / base_.stages, base_.stages > 1 ? kMostChunks : 1))) {
        base_.chunks = chunks;
        for (const std::string& schedule : said_or(request_.schedule, schedules())) {
          base_.schedule = schedule;
          rest();
        }
      }
    }
  }

  [[nodiscard]] std::vector<std::string> schedules() const {
    if (base_.stages == 1) return {"1f1b"};
    if (base_.chunks == 1)
      return base_.stages <= kMostZeroBubble ? std::vector<std::string>{"1f1b", "zb-h1"}
                                             : std::vector<std::string>{"1f1b"};
    if (base_.chunks == 2 && base_.stages <= kMostZeroBubble) return {"interleaved", "zb-v"};
    return {"interleaved"};
  }

  /// Tensor ranks divide the stream's rows unless they divide something else in their place.
  [[nodiscard]] bool cuts_rows() const {
    return base_.tensor_ranks > 1 && !in_grid() && !request_.partitions_checkpoints;
  }

  void rest() {
    std::vector<int> zeros{0};
    const bool shares = base_.data_ranks * base_.context_ranks > 1;
    if (shares) zeros.push_back(1);
    if (shares && base_.stages == 1) zeros.insert(zeros.end(), {2, 3});
    std::vector<Recomputation> rules{Recomputation::kNone, Recomputation::kFull};
    if (question_.choices.attention == AttentionKernel::kEager) rules.push_back(Recomputation::kSelective);
    for (const int zero : said_or(request_.zero, zeros)) {
      for (const Recomputation rule : said_or(request_.recomputation, rules)) {
        for (const bool by_rows : said_or(request_.sequence_parallel, {cuts_rows()})) {
          ParallelLayout layout = base_;
          layout.zero = zero;
          layout.recomputation = rule;
          layout.sequence_parallel = by_rows;
          layout.partitions_checkpoints =
              request_.partitions_checkpoints && rule == Recomputation::kFull && layout.tensor_ranks > 1;
          layout.cuts_products = request_.cuts_products && by_rows && layout.tensor_ranks > 1;
          if (check_layout(question_.spec, question_.recipe, layout, question_.cluster.gpus)) found_.push_back(layout);
        }
      }
    }
  }

  const ParallelQuestion& question_;
  const LayoutRequest& request_;
  ParallelLayout base_;
  std::vector<ParallelLayout> found_;
};

bool is_better(const ParallelAnswer& a, const ParallelAnswer& b) {
  return a.step_seconds != b.step_seconds ? a.step_seconds < b.step_seconds : a.peak() < b.peak();
}

/// Fastest first, each needing less than all before it.
std::vector<ParallelAnswer> front_of(std::vector<ParallelAnswer> fitting) {
  std::stable_sort(fitting.begin(), fitting.end(), is_better);
  std::vector<ParallelAnswer> front;
  for (ParallelAnswer& answer : fitting) {
    if (front.empty() || answer.peak() < front.back().peak()) front.push_back(std::move(answer));
  }
  return front;
}

/// Why none of the layouts that were asked for is one: what was said does not divide, or nothing does.
Error no_layout(const ParallelQuestion& question, const LayoutRequest& request) {
  const ParallelLayout said = layout_as_said(request, question.cluster.gpus);
  if (auto fits = check_layout(question.spec, question.recipe, said, question.cluster.gpus); !fits) return fits.error();
  return {.kind = ErrorKind::kInfeasible,
          .what = fmt::format("no layout divides {} over {} GPUs", question.spec.name, question.cluster.gpus),
          .where = "--gpus",
          .remedy = "take another number of GPUs or another --global-batch"};
}

}  // namespace

std::vector<ParallelLayout> candidate_layouts(const ParallelQuestion& question, const LayoutRequest& request) {
  return Candidates(question, request).all();
}

std::vector<std::optional<ParallelAnswer>> time_layouts(const ParallelQuestion& question, const std::vector<ParallelLayout>& layouts,
                                                        unsigned threads) {
  const auto pieces = make_piece_table(question, layouts, threads);
  std::vector<std::optional<ParallelAnswer>> answers(layouts.size());
  parallel_for(
      layouts.size(),
      [&](std::size_t i) {
        const auto& own = pieces.at(piece_key(layouts[i]));
        if (!own) return;
        ParallelQuestion one = question;
        one.layout = layouts[i];
        auto answer = predict_steady(one, *own);
        if (answer) answers[i] = std::move(*answer);
      },
      threads);
  return answers;
}

Result<LayoutSearch> search_layouts(const ParallelQuestion& question, const LayoutRequest& request, unsigned threads) {
  const std::vector<ParallelLayout> layouts = candidate_layouts(question, request);
  if (layouts.empty()) return fail(no_layout(question, request));
  if (question.choices.groups) {  // all layouts have the request's expert ranks
    const auto gating = two_level_gating(question.spec.experts, layouts.front(), *question.choices.groups);
    if (!gating) return fail(gating.error());
  }
  LayoutSearch search{
      .front = {}, .smallest = {}, .tried = layouts.size(), .global_batch = layouts.front().global_batch};
  std::vector<ParallelAnswer> fitting;
  for (auto& answer : time_layouts(question, layouts, threads)) {
    if (!answer) continue;
    if (answer->fits())
      fitting.push_back(std::move(*answer));
    else if (search.smallest.empty() || answer->peak() < search.smallest.front().peak())
      search.smallest.assign(1, std::move(*answer));
  }
  search.fitting = fitting.size();
  search.front = front_of(std::move(fitting));
  return search;
}

}  // namespace plimsoll
