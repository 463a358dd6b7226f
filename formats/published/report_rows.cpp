#include "formats/published/report_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/model/parameters.h"
#include "core/trace/compare_traces.h"
#include "formats/models/model_zoo.h"
#include "formats/models/shape_words.h"
#include "formats/plans/strategy_json.h"
#include "formats/runs/process_samples.h"

namespace plimsoll {
namespace {

/// A name that says nothing but the model: one of the zoo, a shape in words, or the sizes as one.
std::string model_text(const ModelSpec& spec) {
  if (looks_like_shape_words(spec.name) || find_in_zoo(spec.name)) return spec.name;
  const std::string_view family = spec.family == Family::kGpt2 ? "gpt" : to_text(spec.family);
  return fmt::format("{}:layers={},hidden={},heads={},kv_heads={},ffn={},vocab={},positions={}", family, spec.layers, spec.hidden,
                     spec.heads, spec.kv_heads, spec.ffn, spec.vocabulary, spec.max_positions);
}

std::string offload_text(const Strategy& strategy) {
  std::string text;
  const auto put = [&](std::string_view what, Tier tier) {
    if (tier == Tier::kDevice) return;
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", what, tier == Tier::kHost ? "cpu" : "ssd");
  };
  put("parameters", strategy.parameters);
  put("gradients", strategy.gradients);
  put("optimizer", strategy.optimizer);
  put("activations", strategy.activations);
  return text.empty() ? "none" : text;
}

/// The GPU, or the CPU that stands in for one.
std::string device_text(const Plan& plan, const RunMeta& meta) {
  for (const Processor& processor : plan.platform.processors) {
    if (processor.kind == ProcessorKind::kGpu && !processor.calibration_name.empty() && processor.calibration_name != "cpu") {
      return processor.calibration_name;
    }
  }
  return "CPU " + meta.machine;
}

/// What decides time and place; its name may be anybody's.
std::string plan_text(Strategy strategy) {
  strategy.name = "reported";
  return write_strategy_fields(strategy);
}

/// The machine as the plan was made for it: what may be used of the device, what there is of the host.
std::string machine_text(const Platform& platform) {
  std::string text;
  for (const MemorySpace& space : platform.spaces) {
    if (space.kind == SpaceKind::kDevice) text += fmt::format("; device_memory {}", space.usable.count);
    if (space.kind == SpaceKind::kHost) text += fmt::format("; host_memory {:.6f}", static_cast<double>(space.capacity.count) * 1e-9);
  }
  for (const Processor& processor : platform.processors) {
    if (processor.kind == ProcessorKind::kCpu && processor.name == "cpu") text += fmt::format("; cores {}", processor.cores);
  }
  const auto host = platform.space(SpaceKind::kHost), drive = platform.space(SpaceKind::kSsd);
  if (!host || !drive) return text;
  const auto read = platform.link(*drive, *host), write = platform.link(*host, *drive);
  if (read && write) {
    text += fmt::format("; drive_read {:.3f}; drive_write {:.3f}", platform.at(*read).bytes_per_second * 1e-9, platform.at(*write).bytes_per_second * 1e-9);
  }
  return text;
}

/// Half of the steps take no longer.
double median_seconds(const std::vector<StepSummary>& steps) {
  std::vector<std::int64_t> times;
  for (const StepSummary& step : steps) times.push_back((step.end - step.start).count);
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return to_seconds(Nanoseconds(times[times.size() / 2]));
}

RowFields common_fields(const RunFile& run, const Plan& plan) {
  const ModelSpec& spec = plan.spec;
  const Recipe& recipe = plan.recipe;
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  return {{"system", "plimsoll " + run.meta.tool_version},
          {"model", model_text(spec)},
          {"params", number(parameter_count(spec))},
          {"layers", number(spec.layers)},
          {"hidden", number(spec.hidden)},
          {"heads", number(spec.heads)},
          {"kv_heads", number(spec.kv_heads)},
          {"ffn", number(spec.ffn)},
          {"vocab", number(spec.vocabulary)},
          {"seq", number(recipe.sequence)},
          {"micro_batch", number(recipe.micro_batch)},
          {"precision", std::string(to_text(recipe.precision))},
          {"optimizer", std::string(to_text(recipe.optimizer))},
          {"checkpointing", plan.strategy.recompute_every == 0   ? "none"
                            : plan.strategy.recompute_every == 1 ? "full"
                                                                 : fmt::format("every {}", plan.strategy.recompute_every)},
          {"zero_stage", "0"},
          {"offload", offload_text(plan.strategy)},
          {"n_gpu", "1"},
          {"gpu", device_text(plan, run.meta)},
          {"source", "plimsoll report, " + run.meta.created.substr(0, 10)}};
}

RowFields with_value(RowFields fields, std::string metric, std::string value, std::string unit, std::string notes) {
  fields.emplace_back("metric", std::move(metric));
  fields.emplace_back("value", std::move(value));
  fields.emplace_back("unit", std::move(unit));
  fields.emplace_back("notes", std::move(notes));
  return fields;
}

tl::unexpected<Error> lacks(const std::string& where, std::string what) {
  return fail({.kind = ErrorKind::kInput,
               .what = "the run file has no " + what,
               .where = where,
               .remedy = "report what plimsoll run has measured to its end"});
}

}  // namespace

Result<std::vector<RowFields>> report_rows(const RunFile& run, const std::string& where) {
  const NamedTrace* measured = run.trace("run");
  if (measured == nullptr || measured->trace.steps.empty()) return lacks(where, "measured steps");
  const Plan* plan = run.plan(measured->trace.plan_digest);
  if (plan == nullptr) return lacks(where, "plan of its steps");
  const std::string notes = fmt::format("accumulate {}; clip {}{}; plan {}; median of {} steps", plan->recipe.accumulate, plan->recipe.clip,
                                        machine_text(plan->platform), plan_text(plan->strategy), measured->trace.steps.size()) +
                            (plan->recipe.adapter.exists() ? "; adapters not carried" : "");
  const RowFields fields = common_fields(run, *plan);
  std::vector<RowFields> rows{
      with_value(fields, "iteration time", fmt::format("{:.6g}", median_seconds(measured->trace.steps)), "s", notes)};
  for (const Arena& arena : plan->arenas) {
    if (plan->platform.at(arena.space).kind != SpaceKind::kDevice) continue;
    rows.push_back(with_value(fields, "peak_reserved", std::to_string(arena.bytes.count), "bytes", notes + "; arena"));
  }
  if (const auto process = process_in(run.memory)) {
    rows.push_back(with_value(fields, "cpu_rss", std::to_string(process->measured.count), "bytes", notes + "; anonymous bytes"));
  }
  return rows;
}

}  // namespace plimsoll
