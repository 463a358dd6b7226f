#include <catch2/catch.hpp>

#include "core/plan/expand.h"
#include "core/trace/match_units.h"
#include "sim/planner/lower_to_plan.h"
#include "tests/support/small_models.h"
#include "tests/support/tiny_platform.h"

namespace plimsoll::test {
namespace {

WorkUnit unit(UnitPhase phase, UnitClass sort, std::int64_t layer, std::int64_t time) {
  return {.phase = phase, .sort = sort, .layer = layer, .name = "u", .time = Nanoseconds(time)};
}

constexpr auto kF = UnitPhase::kForward;

void add_range(Recording& recording, const char* name, std::int64_t start, std::int64_t end, RangeKind kind) {
  recording.ranges.push_back({.start = Nanoseconds(start), .end = Nanoseconds(end), .name = recording.names.add(name),
                              .thread = recording.thread(1, 1), .kind = kind});
}

}  // namespace

TEST_CASE("units of one class are paired in their order; what has no partner is not guessed") {
  // Predicted: product 10, norm 2, product 30. Measured: product 11, something else 5, norm 3, attention 7. The second
  // product has no partner: 12 of 42 predicted and 14 of 26 measured are matched.
  const UnitStep predicted{.units = {unit(kF, UnitClass::kProduct, -1, 10), unit(kF, UnitClass::kNorm, -1, 2),
                                     unit(kF, UnitClass::kProduct, -1, 30)}};
  const UnitStep measured{.units = {unit(kF, UnitClass::kProduct, -1, 11), unit(kF, UnitClass::kOther, -1, 5),
                                    unit(kF, UnitClass::kNorm, -1, 3), unit(kF, UnitClass::kAttention, -1, 7)}};
  const UnitMatch match = match_units(predicted, measured);
  CHECK(match.predicted_share == Approx(12.0 / 42));
  CHECK(match.measured_share == Approx(14.0 / 26));
  REQUIRE(match.only_predicted.size() == 1);
  CHECK(match.only_predicted[0].time == Nanoseconds(30));
  REQUIRE(match.only_measured.size() == 2);
  CHECK(match.only_measured[0].sort == UnitClass::kAttention);
}

TEST_CASE("where both sides tell the layer, units of different layers are no pair") {
  const UnitStep predicted{.units = {unit(kF, UnitClass::kProduct, 0, 10), unit(kF, UnitClass::kProduct, 1, 20)}};
  const UnitStep measured{.units = {unit(kF, UnitClass::kProduct, 1, 21)}};
  const UnitMatch match = match_units(predicted, measured);
  CHECK(match.layers);
  REQUIRE(match.classes.size() == 1);
  CHECK(match.classes[0].predicted == Nanoseconds(20));
}

TEST_CASE("a step of PyTorch's becomes units: operators, backward nodes, runs of elementwise work, the update") {
  Recording recording;
  add_range(recording, "Optimizer.step#AdamW.step", 0, 10, RangeKind::kAnnotation);
  add_range(recording, "nn.Module: GPT2Block_3", 15, 80, RangeKind::kDrawn);
  add_range(recording, "aten::addmm", 20, 30, RangeKind::kOperator);
  add_range(recording, "aten::mm", 22, 28, RangeKind::kOperator);
  add_range(recording, "aten::mul", 31, 33, RangeKind::kOperator);
  add_range(recording, "aten::tanh", 34, 38, RangeKind::kOperator);
  add_range(recording, "autograd::engine::evaluate_function: AddmmBackward0", 100, 120, RangeKind::kOperator);
  add_range(recording, "aten::mm", 101, 110, RangeKind::kOperator);
  add_range(recording, "Optimizer.step#AdamW.step", 130, 150, RangeKind::kAnnotation);
  const UnitStep step = units_of_recording(recording);
  CHECK(step.duration == Nanoseconds(140));
  REQUIRE(step.units.size() == 4);
  CHECK(step.units[0].sort == UnitClass::kProduct);
  CHECK(step.units[0].layer == 3);
  CHECK(step.units[0].time == Nanoseconds(10));
  CHECK(step.units[1].sort == UnitClass::kElementwise);
  CHECK(step.units[1].time == Nanoseconds(6));
  CHECK(step.units[2].phase == UnitPhase::kBackward);
  CHECK(step.units[2].sort == UnitClass::kProduct);
  CHECK(step.units[3].sort == UnitClass::kUpdate);
}

TEST_CASE("a run of elementwise operators goes on over views and casts, and ends at other work") {
  // mul 2, view 1, pow 3, mm 10, add 4: the run mul + pow takes 5.
  std::vector<WorkUnit> units{unit(kF, UnitClass::kElementwise, -1, 2), unit(kF, UnitClass::kOther, -1, 1),
                              unit(kF, UnitClass::kElementwise, -1, 3), unit(kF, UnitClass::kProduct, -1, 10),
                              unit(kF, UnitClass::kElementwise, -1, 4)};
  merge_runs(units);
  REQUIRE(units.size() == 4);
  CHECK(units[0].time == Nanoseconds(5));
  CHECK(units[1].sort == UnitClass::kOther);
  CHECK(units[3].time == Nanoseconds(4));
}

TEST_CASE("a fused product counts as many as the framework has, of the same time together") {
  const ModelSpec spec = small_model(Family::kLlama);
  const Plan plan = lower_to_plan(spec, small_recipe(), tiny_platform(), {.name = "resident"}, {}).value();
  Trace trace;
  const auto instructions = static_cast<std::uint32_t>(expand(plan, *plan.body("step")).list.instructions.size());
  for (std::uint32_t i = 0; i < instructions; ++i)
    trace.events.push_back({.step = 0, .instruction = i, .start = Nanoseconds(600 * i), .end = Nanoseconds(600 * i + 600)});
  const auto products = [&](const OperatorShares& shares, UnitPhase phase) {
    std::pair<std::int64_t, Nanoseconds> sum;
    for (const WorkUnit& made : units_of_plan(plan, trace, false, shares).units) {
      if (made.sort == UnitClass::kProduct && made.phase == phase) sum = {sum.first + 1, sum.second + made.time};
    }
    return sum;
  };
  // A block has four products (queries with keys and values, output, feed-forward in and out), of transformers' seven; one head.
  for (const UnitPhase phase : {UnitPhase::kForward, UnitPhase::kBackward}) {
    const auto ours = products({}, phase), theirs = products({.query_products = 3, .inner_products = 2}, phase);
    CHECK(ours.first == 4 * spec.layers + 1);
    CHECK(theirs.first == 7 * spec.layers + 1);
    CHECK(ours.second == theirs.second);
  }
}

TEST_CASE("where a device worked, a unit takes the time of what it launched") {
  Recording recording;
  add_range(recording, "aten::addmm", 20, 30, RangeKind::kOperator);
  recording.calls.push_back({.start = Nanoseconds(25),
                             .end = Nanoseconds(26),
                             .correlation = 7,
                             .name = recording.names.add("cudaLaunchKernel"),
                             .thread = 0});
  recording.work.push_back({.start = Nanoseconds(40), .end = Nanoseconds(140), .correlation = 7, .on = {.process = 1},
                            .name = recording.names.add("sgemm")});
  const UnitStep step = units_of_recording(recording);
  CHECK(step.on_device);
  REQUIRE(step.units.size() == 1);
  CHECK(step.units[0].time == Nanoseconds(100));
}

}  // namespace plimsoll::test
