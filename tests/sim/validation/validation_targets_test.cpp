#include <catch2/catch.hpp>

#include "sim/validation/fitted_constants.h"
#include "sim/validation/validation_targets.h"

using namespace plimsoll;

namespace {

const std::string kHeader = "name,measure,family,rows,statistic,bound,source\n";

}  // namespace

TEST_CASE("a target is missed above its bound, an order below it, and where no row tells") {
  const auto targets = read_validation_targets(kHeader + "a,allocated,,fully,median,0.01,\nb,allocated,,all,median,0.05,\n"
                                                         "c,step,,all,order,0.95,\nd,host,,all,median,0.05,\n"
                                                         "e,fits,x,all,uncertain,0.1,\n",
                                               "t.csv");
  REQUIRE(targets);
  std::vector<RowGroup> groups(3);
  groups[0].all = {.count = 10, .median = 0.05};
  groups[0].fully = {.count = 4, .median = 0.02};
  groups[1].measure = Measure::kStep;
  groups[1].order = 0.9;
  groups[2].measure = Measure::kFits;
  groups[2].family.assign(1, 'x');
  groups[2].verdicts = {.count = 20, .uncertain = 1};
  const auto results = judge_targets(*targets, groups);
  CHECK(results[0].is_missed());
  CHECK(results[0].rows == 4);
  CHECK_FALSE(results[1].is_missed());
  CHECK(results[2].is_missed());
  CHECK(results[3].is_missed());
  CHECK_FALSE(results[3].reached);
  CHECK_FALSE(results[4].is_missed());
  CHECK(*results[4].reached == 0.05);
}

TEST_CASE("a table of targets with an unknown measure or statistic is refused by line and column") {
  const auto measure = read_validation_targets(kHeader + "a,bytes,,fully,median,0.01,\n", "t.csv");
  REQUIRE_FALSE(measure);
  CHECK(measure.error().where == "t.csv:2");
  CHECK(measure.error().what == "column 'measure': no measure is called 'bytes'");
  CHECK_FALSE(read_validation_targets(kHeader + "a,step,,fully,luck,0.01,\n", "t.csv"));
  CHECK_FALSE(read_validation_targets(kHeader + "a,step,,fully,median,much,\n", "t.csv"));
  CHECK(shipped_validation_targets());
}

TEST_CASE("a constant that one family alone serves is refused") {
  const std::string header = "constant,unit,value,rows,left_out,value_without,error_without\n";
  CHECK(read_fitted_constants(header + "k,B,440,BERT,a,430,0.05\nk,B,440,BERT,b,450,0.04\n", "f.csv"));
  const auto alone = read_fitted_constants(header + "k,B,440,BERT,a,430,0.05\n", "f.csv");
  REQUIRE_FALSE(alone);
  CHECK(alone.error().what == "'k' is fitted on one family alone: no row left out tells how good it is");
  CHECK(shipped_fitted_constants());
}
