#include <catch2/catch.hpp>

#include <map>

#include "core/model/parameters.h"
#include "formats/published/published_rows.h"
#include "sim/validation/state_row.h"

using namespace plimsoll;

namespace {

struct Shipped {
  std::vector<PublishedRow> rows;
  std::vector<StatedRow> stated;
};

const Shipped& shipped() {
  static const Shipped all = [] {
    Shipped made;
    const auto rows = shipped_published_rows();
    const auto lexicon = shipped_lexicon();
    REQUIRE(rows);
    REQUIRE(lexicon);
    made.rows = *rows;
    for (const PublishedRow& row : made.rows) made.stated.push_back(state_row(row, *lexicon));
    return made;
  }();
  return all;
}

}  // namespace

TEST_CASE("every shipped row is stated or says why not") {
  for (std::size_t i = 0; i < shipped().rows.size(); ++i) {
    const StatedRow& row = shipped().stated[i];
    INFO(shipped().rows[i].place);
    CHECK(row.statement.has_value() == row.refusals.empty());
    CHECK_FALSE(row.family.empty());
    if (row.statement && row.statement->measure != Measure::kFits) CHECK(row.statement->published > 0);
  }
}

TEST_CASE("the number of rows that can be stated does not shrink") {
  std::map<Measure, int> stated;
  for (const StatedRow& row : shipped().stated) {
    if (row.statement) ++stated[row.statement->measure];
  }
  CHECK(stated[Measure::kAllocated] >= 100);
  CHECK(stated[Measure::kReserved] >= 70);
  CHECK(stated[Measure::kProcess] >= 75);
  CHECK(stated[Measure::kFits] >= 171);
  CHECK(stated[Measure::kStep] >= 1550);
  CHECK(stated[Measure::kLargest] >= 6);
  CHECK(stated[Measure::kClusterStep] >= 500);
}

TEST_CASE("the stated model has the parameters that its row prints exactly") {
  int checked = 0;
  for (std::size_t i = 0; i < shipped().rows.size(); ++i) {
    const auto printed = shipped().rows[i].whole("params");
    const auto& statement = shipped().stated[i].statement;
    if (!printed || !statement || statement->recipe.adapter.exists()) continue;
    INFO(shipped().rows[i].place);
    CHECK(parameter_count(statement->spec) == *printed);
    ++checked;
  }
  CHECK(checked >= 120);
}

TEST_CASE("the tables of one configuration that print throughput and utilization agree on the time of a step") {
  std::map<std::string, std::vector<double>> seconds;
  for (std::size_t i = 0; i < shipped().rows.size(); ++i) {
    const PublishedRow& row = shipped().rows[i];
    const auto& statement = shipped().stated[i].statement;
    if (row.field("system") != "llm-foundry" || !statement) continue;
    std::string key;
    for (const std::string_view column : {"model", "seq", "global_batch", "micro_batch", "n_gpu", "gpu", "precision",
                                          "checkpointing", "sharding", "source"}) {
      key += std::string(row.field(column)) + "|";
    }
    seconds[key].push_back(statement->published);
  }
  int pairs = 0;
  for (const auto& [key, values] : seconds) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    INFO(key << " " << *low << " to " << *high);
    CHECK(*high / *low < 1.02);
    pairs += static_cast<int>(values.size()) - 1;
  }
  CHECK(pairs > 100);
}
