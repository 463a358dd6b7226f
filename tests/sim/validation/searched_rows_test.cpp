#include <catch2/catch.hpp>

#include "core/model/parameters.h"
#include "formats/models/resolve_model.h"
#include "sim/validation/searched_rows.h"

namespace plimsoll {
namespace {

RowStatement statement() {
  RowStatement made;
  made.spec = *resolve_model("gpt:layers=2,hidden=64,heads=2,vocab=512,positions=64");
  made.setup.stack = Stack::kDeepspeed;
  made.best_batch = true;
  return made;
}

StackPrediction taking(double forward, double once, bool fits) {
  StackPrediction prediction;
  prediction.fits = fits;
  prediction.time.forward = forward;
  prediction.time.step = forward + once;
  return prediction;
}

/// Half a second a sequence and three a step; 16 sequences and more do not fit.
Result<StackPrediction> fixed_costs(const ModelSpec&, const Recipe& recipe, const StackSetup&, const GpuEntry&) {
  const auto sequences = static_cast<double>(recipe.micro_batch * recipe.accumulate);
  return taking(0.5 * sequences, 3, recipe.micro_batch < 16);
}

}  // namespace

TEST_CASE("The best of several batches is told in seconds of one sequence where the row tells no step") {
  // Eight fit: (8 * 0.5 + 3) / 8; four would be 1.25.
  const auto best = best_over_batches(statement(), fixed_costs);
  REQUIRE(best);
  CHECK(**best == Approx(7.0 / 8));
}

TEST_CASE("A step's sequences are divided into the best micro-batches that divide them") {
  RowStatement row = statement();
  row.recipe.accumulate = 12;
  // 64 to 8 do not divide twelve; three of four take 12 * 0.5 + 3.
  const auto best = best_over_batches(row, fixed_costs);
  REQUIRE(best);
  CHECK(**best == Approx(9));
}

TEST_CASE("Smaller batches are tried as long as they are faster") {
  const auto crowded = [](const ModelSpec&, const Recipe& recipe, const StackSetup&, const GpuEntry&) -> Result<StackPrediction> {
    const auto batch = static_cast<double>(recipe.micro_batch);
    return taking(batch * batch / 16, 4, true);
  };
  // Sixteen: (16 + 4) / 16; eight: (4 + 4) / 8; four: (1 + 4) / 4.
  CHECK(**best_over_batches(statement(), crowded) == Approx(1));
}

TEST_CASE("Where no batch fits nothing is told") {
  const auto never = [](const ModelSpec&, const Recipe&, const StackSetup&, const GpuEntry&) -> Result<StackPrediction> { return taking(1, 1, false); };
  CHECK_FALSE(best_over_batches(statement(), never)->has_value());
}

TEST_CASE("The largest model is the deepest of its width that fits, in whole layers a stage") {
  const auto until = [](std::int64_t most) {
    return [most](const ModelSpec& spec, const Recipe&, const StackSetup&, const GpuEntry&) -> Result<StackPrediction> {
      return taking(1, 1, spec.layers <= most);
    };
  };
  RowStatement row = statement();
  row.measure = Measure::kLargest;
  ModelSpec deepest = row.spec;
  deepest.layers = 37;
  CHECK(**largest_by_depth(row, until(37)) == static_cast<double>(parameter_count(deepest)));
  row.setup.stages = 4;
  deepest.layers = 36;
  CHECK(**largest_by_depth(row, until(37)) == static_cast<double>(parameter_count(deepest)));
  CHECK_FALSE(largest_by_depth(row, until(0))->has_value());
}

}  // namespace plimsoll
