#include <catch2/catch.hpp>

#include "sim/validation/rank_order.h"
#include "sim/validation/row_statistics.h"

using namespace plimsoll;

namespace {

RowOutcome outcome_of(const PublishedRow& row, Measure measure, double published, double predicted, bool open = false) {
  RowOutcome outcome;
  outcome.row = &row;
  outcome.stated.family.assign(1, 'a');
  outcome.stated.statement.emplace();
  outcome.stated.statement->measure = measure;
  outcome.stated.statement->published = published;
  if (open) outcome.stated.open.emplace_back("GPU");
  outcome.stated.statement->recipe.sequence = 1;
  outcome.predicted = predicted;
  return outcome;
}

}  // namespace

TEST_CASE("errors are counted by their size, the bias by its sign") {
  // −10 %, 0, +5 %, +20 %: absolute 0, 5, 10, 20; median 7.5, mean 8.75, 95th 10 + 0.85·10 = 18.5, bias 15/4.
  const auto errors = summarize_errors({-0.10, 0, 0.05, 0.20});
  CHECK(errors.count == 4);
  CHECK(errors.median == Approx(0.075));
  CHECK(errors.mean == Approx(0.0875));
  CHECK(errors.p95 == Approx(0.185));
  CHECK(errors.worst == Approx(0.20));
  CHECK(errors.bias == Approx(0.0375));
  CHECK(summarize_errors({}).count == 0);
}

TEST_CASE("an uncertain verdict is never a false one") {
  const PublishedRow row;
  std::vector<RowOutcome> outcomes{outcome_of(row, Measure::kFits, 0, 1), outcome_of(row, Measure::kFits, 1, 0),
                                   outcome_of(row, Measure::kFits, 0, 1, true), outcome_of(row, Measure::kFits, 1, 1)};
  outcomes[2].certain = false;
  const auto groups = summarize_rows(outcomes);
  REQUIRE(groups.size() == 2);
  CHECK(groups[0].family.empty());
  CHECK(groups[0].verdicts.count == 4);
  CHECK(groups[0].verdicts.false_fits == 1);
  CHECK(groups[0].verdicts.false_no == 1);
  CHECK(groups[0].verdicts.uncertain == 1);
  CHECK(groups[0].fully_verdicts.count == 3);
}

TEST_CASE("rank correlation is Spearman's, ties share a rank") {
  CHECK(*rank_correlation({{1, 10}, {2, 20}, {3, 30}}) == Approx(1));
  CHECK(*rank_correlation({{1, 30}, {2, 20}, {3, 10}}) == Approx(-1));
  // Ranks 0,1,2,3 against 0,2,1,3: 1 − 6·2/(4·15) = 0.8.
  CHECK(*rank_correlation({{1, 1}, {2, 3}, {3, 2}, {4, 4}}) == Approx(0.8));
  // 0, 0.5, 0.5 … ties: ranks 0, 1.5, 1.5, 3 against 0..3: cov = 4.5, var 4.5 and 5: 4.5/√22.5.
  CHECK(*rank_correlation({{1, 1}, {2, 2}, {2, 3}, {4, 4}}) == Approx(0.94868).epsilon(1e-4));
  CHECK_FALSE(rank_correlation({{1, 1}, {1, 2}, {1, 3}}));
  CHECK_FALSE(rank_correlation({{1, 1}, {2, 2}}));
}

TEST_CASE("a sweep is a system, model, GPU and metric with four different values") {
  PublishedRow row;
  row.fields = {{"system", "s"}, {"model", "m"}, {"gpu", "g"}, {"metric", "throughput"}};
  std::vector<RowOutcome> outcomes;
  for (const double value : {1.0, 2.0, 3.0, 4.0}) outcomes.push_back(outcome_of(row, Measure::kStep, value, 10 - value));
  const auto groups = summarize_rows(outcomes);
  CHECK(groups[0].sweeps == 1);
  CHECK(*groups[0].order == Approx(-1));
  outcomes.pop_back();
  CHECK(summarize_rows(outcomes)[0].sweeps == 0);
}
