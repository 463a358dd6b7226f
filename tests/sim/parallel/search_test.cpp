#include <catch2/catch.hpp>

#include "sim/parallel/search_layouts.h"
#include "sim/parallel/sweep_layouts.h"
#include "tests/sim/parallel/training.h"

namespace plimsoll {
namespace {

LayoutRequest batch_of(std::int64_t sequences) {
  LayoutRequest request;
  request.global_batch = sequences;
  return request;
}

/// Tries as many as 1, 2, 4 and 8 ranks that are said do together, and finds the fastest of them.
void check_against_said(const ParallelQuestion& question, std::int64_t batch, const LayoutSearch& found,
                        std::optional<std::int64_t> LayoutRequest::*degree) {
  std::size_t tried = 0;
  double best = 1e9;
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    LayoutRequest said = batch_of(batch);
    said.*degree = ranks;
    const auto of_ranks = search_layouts(question, said);
    REQUIRE(of_ranks);
    tried += of_ranks->tried;
    for (const ParallelAnswer& answer : of_ranks->front) {
      best = std::min(best, answer.step_seconds);
      CHECK((degree == &LayoutRequest::expert_ranks ? answer.layout.expert_ranks : answer.layout.context_ranks) == ranks);
    }
  }
  CHECK(found.front.front().step_seconds == best);
  CHECK(found.tried == tried);
}

}  // namespace

TEST_CASE("A search's front gets slower and needs less, and nothing tried is better") {
  const ParallelQuestion question = test::gpt_on(8);
  const auto found = search_layouts(question, batch_of(32));
  REQUIRE(found);
  REQUIRE(found->front.size() > 1);
  CHECK(found->tried > 50);
  for (std::size_t i = 1; i < found->front.size(); ++i) {
    CHECK(found->front[i].step_seconds >= found->front[i - 1].step_seconds);
    CHECK(found->front[i].peak() < found->front[i - 1].peak());
  }
  for (const ParallelLayout& layout : candidate_layouts(question, batch_of(32))) {
    ParallelQuestion one = question;
    one.layout = layout;
    const auto answer = predict_parallel(one);
    if (answer && answer->fits()) CHECK(answer->step_seconds >= found->front.front().step_seconds * (1 - 1e-3));
  }
}

TEST_CASE("A micro-batch without a global batch means one micro-batch a GPU") {
  LayoutRequest request;
  request.micro_batch = 4;
  const auto found = search_layouts(test::gpt_on(8), request);
  REQUIRE(found);
  CHECK(found->global_batch == 32);
  REQUIRE_FALSE(found->front.empty());
  CHECK(found->front.front().layout.micro_batch == 4);
}

TEST_CASE("A search finds the same with one thread and with three, and keeps to what was said") {
  LayoutRequest request = batch_of(32);
  request.stages = 2;
  request.recomputation = Recomputation::kNone;
  const auto one = search_layouts(test::gpt_on(8), request, 1), three = search_layouts(test::gpt_on(8), request, 3);
  REQUIRE(one);
  REQUIRE(three);
  REQUIRE(one->front.size() == three->front.size());
  for (std::size_t i = 0; i < one->front.size(); ++i) {
    CHECK(one->front[i].layout == three->front[i].layout);
    CHECK(one->front[i].step_seconds == three->front[i].step_seconds);
    CHECK(one->front[i].layout.stages == 2);
    CHECK(one->front[i].layout.recomputation == Recomputation::kNone);
  }
}

TEST_CASE("A search shares a mixture's experts among the data ranks as well as any number that is said") {
  ParallelQuestion question = test::gpt_on(8);
  question.spec = *resolve_model("gpt:layers=8,hidden=1024,heads=16,vocab=32768,positions=1024,experts=24,top-k=2");
  const auto found = search_layouts(question, batch_of(64));
  REQUIRE(found);
  REQUIRE_FALSE(found->front.empty());
  check_against_said(question, 64, *found, &LayoutRequest::expert_ranks);
}

TEST_CASE("A search shares long sequences among ranks as well as any number that is said, and short ones among none") {
  ParallelQuestion question = test::gpt_on(8);
  for (const ParallelLayout& layout : candidate_layouts(question, batch_of(8))) CHECK(layout.context_ranks == 1);
  question.spec.max_positions = question.recipe.sequence = 32768;
  const auto found = search_layouts(question, batch_of(8));
  REQUIRE(found);
  REQUIRE_FALSE(found->front.empty());
  check_against_said(question, 8, *found, &LayoutRequest::context_ranks);  // 8 x 4096 tokens
  for (const ParallelLayout& layout : candidate_layouts(question, batch_of(64))) {
    const std::int64_t tokens = layout.micro_batch * 32768 / layout.context_ranks;
    CHECK((layout.micro_batch == 1 || tokens <= 131072));
  }
  question.recipe.sequence = 32764;  // four parts, of which two ranks have an early and a late one each
  for (const ParallelLayout& layout : candidate_layouts(question, batch_of(8))) CHECK(layout.context_ranks <= 2);
}

TEST_CASE("Ranks that share sequences share states, too") {
  const ParallelQuestion question = test::gpt_on(4);
  const auto refused = [&](std::int64_t context, std::int64_t tensor) {
    const ParallelLayout layout{.tensor_ranks = tensor, .context_ranks = context, .zero = 1};
    return !check_layout(question.spec, question.recipe, layout, 4);
  };
  CHECK_FALSE(refused(4, 1));
  CHECK(refused(1, 4));
}

TEST_CASE("Experts are shared by no ranks where their groups are of ranks that somebody names, and by none of a dense model") {
  ParallelQuestion question = test::gpt_on(8);
  for (const ParallelLayout& layout : candidate_layouts(question, batch_of(64))) CHECK(layout.expert_ranks == 1);
  question.spec = *resolve_model("gpt:layers=8,hidden=1024,heads=16,vocab=32768,positions=1024,experts=16,top-k=2");
  question.choices.groups = GroupChoice{.groups = 2, .chosen = 1};
  for (const ParallelLayout& layout : candidate_layouts(question, batch_of(64))) CHECK(layout.expert_ranks == 1);
}

TEST_CASE("A sweep has every combination, the last key fastest, with a reason where one does not divide") {
  const auto stages = parse_variation("pp=1,2,3"), micro = parse_variation("micro-batch=1..2");
  REQUIRE(stages);
  REQUIRE(micro);
  const auto swept = sweep_layouts(test::gpt_on(8), batch_of(32), {*stages, *micro}, {.threads = 2});
  REQUIRE(swept);
  REQUIRE(swept->size() == 6);
  CHECK(swept->at(1).layout.stages == 1);
  CHECK(swept->at(1).layout.micro_batch == 2);
  CHECK(swept->at(2).layout.stages == 2);
  CHECK(swept->at(3).answer);
  CHECK_FALSE(swept->at(4).answer);
  CHECK(swept->at(4).refusal.find("--pp") != std::string::npos);
}

TEST_CASE("Shares of a sweep are every third combination, and together all of them") {
  const auto stages = parse_variation("pp=1,2,3"), micro = parse_variation("micro-batch=1..4");
  REQUIRE(stages);
  REQUIRE(micro);
  const auto all = sweep_layouts(test::gpt_on(8), batch_of(32), {*stages, *micro});
  REQUIRE(all);
  std::size_t seen = 0;
  for (std::size_t part = 0; part < 3; ++part) {
    const auto share = sweep_layouts(test::gpt_on(8), batch_of(32), {*stages, *micro}, {.part = part, .parts = 3});
    REQUIRE(share);
    for (std::size_t i = 0; i < share->size(); ++i, ++seen) {
      const SweptLayout& whole = all->at(part + 3 * i);
      CHECK(share->at(i).layout == whole.layout);
      CHECK(share->at(i).refusal == whole.refusal);
      REQUIRE(share->at(i).answer.has_value() == whole.answer.has_value());
      if (whole.answer) CHECK(share->at(i).answer->step_seconds == whole.answer->step_seconds);
    }
  }
  CHECK(seen == all->size());
  const auto none = sweep_layouts(test::gpt_on(8), batch_of(32), {*stages}, {.part = 3, .parts = 4});
  REQUIRE(none);
  CHECK(none->empty());
}

TEST_CASE("Variations that no layout has are refused") {
  for (const char* wrong : {"", "pp", "pp=", "pp=x", "pp=0", "pp=2..1", "colour=1", "zero=4", "recompute=some",
                            "sequence-parallel=yes", "pp=1..99999999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_variation(wrong));
  }
}

}  // namespace plimsoll
