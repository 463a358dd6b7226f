#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include "formats/published/published_rows.h"
#include "sim/validation/predict_row.h"
#include "sim/validation/state_row.h"
#include "sim/validation/validation_targets.h"

using namespace plimsoll;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("errors on shipped rows are no larger than they were") {
  const auto rows = shipped_published_rows();
  const auto lexicon = shipped_lexicon();
  const auto bounds = read_validation_targets(text_of(PLIMSOLL_REACHED), "reached.csv");
  REQUIRE(rows);
  REQUIRE(lexicon);
  REQUIRE(bounds);
  std::vector<StatedRow> stated;
  for (const PublishedRow& row : *rows) stated.push_back(state_row(row, *lexicon));
  const auto results = judge_targets(*bounds, summarize_rows(judge_rows(*rows, stated, predict_row)));
  for (const TargetResult& result : results) {
    INFO(result.target.name << ", " << result.target.statistic << ": " << result.reached.value_or(-1) << " of " << result.rows
                            << " rows, at most " << result.target.bound);
    CHECK_FALSE(result.is_missed());
  }
}
