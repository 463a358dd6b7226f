#include "formats/runs/report_json.h"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <set>

namespace plimsoll::test {
namespace {

using nlohmann::json;

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

using Keys = std::set<std::string>;

}  // namespace

TEST_CASE("the JSON of fit has exactly the keys of the contract") {
  FitAnswer answer;
  answer.memory.resize(1);
  answer.alternatives.resize(1);
  answer.alternatives[0].short_of = {{.space = "host", .needed = Bytes(7), .usable = Bytes(5)}};
  const json out = json::parse(to_json(answer));
  CHECK(keys(out) == Keys{"format_version", "verdict", "model", "strategy", "stack", "step_seconds",
                          "step_seconds_low", "step_seconds_high", "tokens_per_second", "samples_per_second",
                          "model_tflops_per_gpu", "hardware_tflops_per_gpu", "bubble_fraction", "phases", "memory",
                          "bottleneck", "calibration", "lower_bound", "alternatives", "collisions", "changes",
                          "training"});
  CHECK(keys(out["model"]) == Keys{"name", "parameters"});
  CHECK(keys(out["phases"]) == Keys{"forward_seconds", "backward_seconds", "optimizer_seconds",
                                    "exposed_transfer_seconds", "exposed_communication_seconds"});
  CHECK(keys(out["memory"][0]) == Keys{"space", "capacity_bytes", "usable_bytes", "margin_bytes", "certain",
                                       "peak_bytes", "peak_allocated_bytes", "peak_reserved_bytes",
                                       "peak_process_bytes", "by_category"});
  CHECK(keys(out["memory"][0]["by_category"]) ==
        Keys{"parameters", "gradients", "optimizer", "activations", "workspace", "framework"});
  CHECK(keys(out["bottleneck"]) == Keys{"resource", "busy_fraction"});
  CHECK(keys(out["calibration"]) == Keys{"kind", "source"});
  CHECK(keys(out["lower_bound"]) == Keys{"step_seconds", "peak_bytes", "gap"});
  CHECK(keys(out["alternatives"][0]) == Keys{"strategy", "step_seconds", "peak_bytes", "fits", "slower_by_seconds",
                                             "limited_by", "busy_fraction", "short_of", "choices"});
  CHECK(out["alternatives"][0]["fits"] == false);
  CHECK(out["alternatives"][0]["short_of"][0]["short_bytes"] == 2);  // 7 - 5
  CHECK(keys(out["training"]) == Keys{"seconds", "cost"});
  CHECK(out["strategy"].contains("name"));
}

TEST_CASE("the JSON of fit says what does not apply with null and the margin with its sign") {
  FitAnswer answer;
  answer.memory = {{.space = "gpu0", .capacity = Bytes(100), .usable = Bytes(90), .peak = Bytes(95)}};
  answer.step_seconds = 0.1;
  const json out = json::parse(to_json(answer));
  CHECK(out["verdict"] == "does_not_fit");
  CHECK(out["memory"][0]["margin_bytes"] == -5);
  CHECK(out["step_seconds"] == 0.1);
  CHECK(out["training"]["seconds"].is_null());
  CHECK(out["lower_bound"]["peak_bytes"].is_null());
  answer.fits = true;
  CHECK(json::parse(to_json(std::vector<FitAnswer>{answer, answer})).size() == 2);
  CHECK(json::parse(to_json(std::vector<FitAnswer>{answer}))[0]["verdict"] == "fits");
}

TEST_CASE("the JSON of run carries losses with 17 significant digits") {
  RunAnswer answer{.steps = 2, .losses = {0.1, 10.0 / 3.0}, .file = "a \"b\".plimsoll"};
  const std::string text = to_json(answer);
  CHECK(text.find("[0.10000000000000001, 3.3333333333333335]") != std::string::npos);
  const json out = json::parse(text);
  CHECK(keys(out) == Keys{"format_version", "steps", "losses", "step_seconds_median", "predicted_step_seconds",
                          "tokens_per_second", "memory", "migration", "evaluations", "file"});
  CHECK(out["predicted_step_seconds"].is_null());
  CHECK(out["migration"].is_null());
  CHECK(out["file"] == "a \"b\".plimsoll");
}

TEST_CASE("the JSON of compare has the keys of the contract and the spaces' names") {
  Comparison comparison;
  comparison.predicted_step = Nanoseconds(900000000);
  comparison.measured_step = Nanoseconds(1000000000);
  comparison.parts = {{TimePart::kForward, Nanoseconds(300000000), Nanoseconds(400000000)}};
  comparison.memory = {{"host", Bytes(5), Bytes(6), {{TensorKind::kParameter, Bytes(5), Bytes(6)}}}};
  comparison.matched_fraction = 1;
  const json out = json::parse(to_json(comparison_answer(comparison)));
  CHECK(keys(out["step"]) == Keys{"predicted_seconds", "measured_seconds", "error", "parts"});
  CHECK(out["step"]["error"].get<double>() == Approx(0.1));  // (1.0 − 0.9) / 1.0
  CHECK(out["step"]["parts"][0]["measured_seconds"].get<double>() == Approx(0.4));
  CHECK(out["memory"][0]["space"] == "host");
  CHECK(out["memory"][0]["measured_bytes"] == 6);
  CHECK(out["matched_fraction"] == 1.0);
  CHECK_FALSE(out.contains("losses"));
}

TEST_CASE("the JSON of two runs says where their losses come apart and in what their trainings differ") {
  ComparisonAnswer answer;
  answer.losses = ComparedLosses{.steps = 7};
  const json same = json::parse(to_json(answer));
  CHECK(same["losses"] == json{{"steps", 7}, {"same_bits", true}});
  CHECK(same["other_work"] == json::array());
  answer.losses->first_apart = {.step = 2, .first = 3.5, .second = 3.25};
  answer.losses->largest = 0.5;
  answer.other_work = {"seed (1 and 2)"};
  const json apart = json::parse(to_json(answer));
  CHECK(apart["losses"] == json{{"steps", 7}, {"same_bits", false}, {"first_apart", 3}, {"other", 3.5}, {"this", 3.25}, {"largest_difference", 0.5}});
  CHECK(apart["other_work"] == json{"seed (1 and 2)"});
}

}  // namespace plimsoll::test
