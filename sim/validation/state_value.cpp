#include <fmt/format.h>

#include <algorithm>

#include "core/model/parameters.h"
#include "formats/published/spelling.h"
#include "formats/text/csv.h"
#include "sim/cost/efficiencies.h"
#include "sim/validation/flop_convention.h"
#include "sim/validation/state_row.h"

namespace plimsoll {
namespace {

/// Sequences of one optimizer step on all GPUs.
double step_sequences(const RowStatement& statement) {
  const Recipe& recipe = statement.recipe;
  return static_cast<double>(recipe.micro_batch * recipe.accumulate * statement.setup.data_ranks * statement.copies);
}

/// All GPUs that the source counts.
double counted_gpus(const RowStatement& statement) { return static_cast<double>(stated_gpus(statement.setup) * statement.copies); }

double step_tokens(const RowStatement& statement) {
  return step_sequences(statement) * static_cast<double>(statement.recipe.sequence);
}

/// The source's own count where it prints one, else that of the stated model, as where what is printed is a rounded name.
double counted_parameters(RowFacts& facts, const ModelSpec& spec) {
  if (facts.fact("counted") == "model") return static_cast<double>(parameter_count(spec));
  if (const auto billions = parse_number(facts.row().field("params_b")); billions && *billions > 0) return *billions * 1e9;
  if (const auto count = facts.row().whole("params")) return static_cast<double>(*count);
  return static_cast<double>(parameter_count(spec));
}

/// TFLOP/s that a source divides by when it prints a share of the peak.
double peak_tflops(RowFacts& facts, const RowStatement& statement) {
  if (const auto stated = facts.number_fact("peak_tflops")) return *stated;
  const GpuEntry& gpu = statement.gpu;
  const bool is_half = size_of(compute_dtype(statement.recipe.precision)) == 2;
  return (is_half ? gpu.bf16_tflops ? gpu.bf16_tflops : gpu.fp16_tflops : gpu.fp32_tflops).value_or(0);
}

/// Seconds of a step from FLOPs per second and GPU.
double flop_seconds(RowFacts& facts, const RowStatement& statement, double tflops) {
  const auto convention = parse_flop_convention(facts.fact("flops"));
  if (!convention) {
    facts.refuse("FLOP convention not stated", "");
    return 0;
  }
  const double flops = convention_flops(*convention, statement.spec, counted_parameters(facts, statement.spec),
                                        statement.recipe.sequence, step_tokens(statement));
  return tflops > 0 ? flops / (tflops * 1e12 * counted_gpus(statement)) : 0;
}

double step_seconds(RowFacts& facts, const RowStatement& statement, double value) {
  const std::string_view rate = facts.fact("rate");
  const double gpus = counted_gpus(statement);
  if (rate.empty()) return value * facts.number_fact("unit").value_or(1);
  if (value <= 0) return 0;
  if (rate == "tokens") return step_tokens(statement) / value;
  if (rate == "tokens-per-gpu") return step_tokens(statement) / gpus / value;
  if (rate == "sequences") return step_sequences(statement) / value;
  if (rate == "seconds-per-samples") return value * step_sequences(statement) / facts.number_fact("samples").value_or(1);
  if (rate == "tflops") return flop_seconds(facts, statement, value / gpus);
  if (rate == "tflops-per-gpu") return flop_seconds(facts, statement, value);
  if (rate == "share-of-peak") return flop_seconds(facts, statement, value / 100 * peak_tflops(facts, statement));
  facts.refuse("unreadable fact", fmt::format("rate is '{}'", rate));
  return 0;
}

bool ran(const PublishedRow& row) {
  return row.field("metric") != "oom" && !match_spelling("oom|no", row.field("value"));
}

/// A source that prints more than the GPU's units could do counts something else than it says.
void check_peak(RowFacts& facts, const RowStatement& statement) {
  const GpuEntry& gpu = statement.gpu;
  const bool is_half = size_of(compute_dtype(statement.recipe.precision)) == 2;
  const double peak = std::max((is_half ? gpu.fp16_tflops : gpu.fp32_tflops).value_or(0),
                               (is_half ? gpu.bf16_tflops : gpu.tf32_tflops).value_or(0));
  const double passes = statement.recipe.adapter.exists() ? 4 : 6;  // twice forward and once or twice that backward
  const std::int64_t looked_up = statement.spec.vocabulary * statement.spec.hidden;
  const auto parameters = static_cast<double>(active_parameter_count(statement.spec) - looked_up);
  const double each = step_tokens(statement) / counted_gpus(statement);
  const double tflops = passes * parameters * each / statement.published * 1e-12;
  if (peak > 0 && tflops > peak) facts.refuse("contradicts arithmetic", fmt::format("{:.1f} TFLOP/s on {}", tflops, gpu.name));
}

bool is_over_nodes(const StackSetup& setup) {
  const auto usual = static_cast<std::int64_t>(cost_constants().at("network.node"));
  return setup.nodes ? *setup.nodes > 1 : stated_gpus(setup) > usual;
}

void take_time(RowFacts& facts, RowStatement& statement) {
  if (is_over_nodes(statement.setup)) {
    if (statement.measure == Measure::kStep) statement.measure = Measure::kClusterStep;
    if (statement.setup.network.empty()) facts.leave_open("network between nodes");
  }
  statement.published = step_seconds(facts, statement, facts.row().value.value_or(0));
  if (statement.published <= 0) return facts.refuse("value without meaning", facts.row().field("metric"));
  if (is_step(statement.measure)) check_peak(facts, statement);
}

void take_bytes(RowFacts& facts, RowStatement& statement) {
  const auto unit = facts.number_fact("unit");
  if (!unit || *unit <= 0) return facts.refuse("unknown unit", facts.row().field("unit"));
  statement.published = facts.row().value.value_or(0) * *unit;
  statement.published -= facts.number_fact("less").value_or(0);
  if (facts.is_true("summed")) statement.published /= counted_gpus(statement);
  if (statement.published <= 0) facts.refuse("value without meaning", facts.row().field("metric"));
}

}  // namespace

void state_value(RowFacts& facts, RowStatement& statement) {
  if (facts.is_refused()) return;
  const auto measure = parse_measure(facts.fact("measure"));
  if (!measure || *measure == Measure::kLadder) return facts.refuse("no such measure", facts.row().field("metric"));
  statement.measure = *measure;
  if (*measure != Measure::kFits && !facts.row().value) {
    return facts.refuse("unreadable value", facts.row().field("value").substr(0, 40));
  }
  statement.best_batch = facts.fact("micro_batch") == "best";
  if (statement.best_batch && !is_step(*measure)) return facts.refuse("micro-batch not stated", "the best of several");
  if (is_time(*measure)) return take_time(facts, statement);
  if (*measure == Measure::kLargest) {
    statement.published = facts.row().value.value_or(0) * facts.number_fact("unit").value_or(1);
    if (statement.published <= 0) facts.refuse("value without meaning", facts.row().field("metric"));
    return;
  }
  if (*measure == Measure::kFits) {
    statement.published = ran(facts.row()) ? 1 : 0;
    return;
  }
  take_bytes(facts, statement);
}

}  // namespace plimsoll
