#include "formats/runs/report_json.h"

#include <fmt/format.h>

#include "formats/runs/collisions.h"
#include "formats/text/json_text.h"
#include "formats/plans/strategy_json.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kReportVersion = 1;

template <typename Entry, typename Write>
std::string lines(const std::vector<Entry>& entries, Write write) {
  std::vector<std::string> items;
  for (const Entry& entry : entries) items.push_back(write(entry));
  return json_lines(items, 2);
}

std::string number_or_null(const std::optional<double>& value) { return value ? json_number(*value) : "null"; }
std::string bytes_or_null(const std::optional<Bytes>& value) { return value ? std::to_string(value->count) : "null"; }

std::string categories(const SpaceAnswer::ByCategory& by) {
  JsonLine line;
  line.integer("parameters", by.parameters.count).integer("gradients", by.gradients.count);
  line.integer("optimizer", by.optimizer.count).integer("activations", by.activations.count);
  return line.integer("workspace", by.workspace.count).integer("framework", by.framework.count).str();
}

std::string space(const SpaceAnswer& s) {
  JsonLine line;
  line.text("space", s.space).integer("capacity_bytes", s.capacity.count).integer("usable_bytes", s.usable.count);
  line.integer("margin_bytes", s.margin().count).flag("certain", s.certain).integer("peak_bytes", s.peak.count);
  line.integer("peak_allocated_bytes", s.peak_allocated.count).integer("peak_reserved_bytes", s.peak_reserved.count);
  line.integer("peak_process_bytes", s.peak_process.count);
  if (s.peak_requested) line.integer("peak_requested_bytes", s.peak_requested->count);
  if (s.peak_device) line.integer("peak_device_bytes", s.peak_device->count);
  if (!s.peak_at.empty()) line.text("peak_at", s.peak_at);
  return line.raw("by_category", categories(s.by_category)).str();
}

std::string migration(const MigrationAnswer& m) {
  JsonLine line;
  line.integer("after_steps", m.after_steps).integer("moved_bytes", m.moved.count);
  return line.number("predicted_seconds", m.predicted_seconds).number("measured_seconds", m.measured_seconds).str();
}

std::string phases(const FitAnswer::Phases& p) {
  JsonLine line;
  line.number("forward_seconds", p.forward_seconds).number("backward_seconds", p.backward_seconds);
  line.number("optimizer_seconds", p.optimizer_seconds).number("exposed_transfer_seconds", p.exposed_transfer_seconds);
  return line.number("exposed_communication_seconds", p.exposed_communication_seconds).str();
}

std::string short_space(const ShortSpaceAnswer& s) {
  JsonLine line;
  line.text("space", s.space).integer("needed_bytes", s.needed.count).integer("usable_bytes", s.usable.count);
  return line.integer("short_bytes", (s.needed - s.usable).count).str();
}

std::string alternative(const AlternativeAnswer& a) {
  std::vector<std::string> short_of;
  for (const ShortSpaceAnswer& s : a.short_of) short_of.push_back(short_space(s));
  JsonLine line;
  line.text("strategy", a.strategy).number("step_seconds", a.step_seconds).integer("peak_bytes", a.peak.count);
  line.flag("fits", a.fits()).number("slower_by_seconds", a.slower_seconds).text("limited_by", a.limited_by);
  line.number("busy_fraction", a.busy_fraction).raw("short_of", json_list(short_of));
  return line.raw("choices", write_strategy_fields(a.choices)).str();
}

std::string category(const ComparedSpaceAnswer::Category& c) {
  JsonLine line;
  line.text("category", c.category).integer("predicted_bytes", c.predicted.count);
  return line.integer("measured_bytes", c.measured.count).str();
}

std::string compared_space(const ComparedSpaceAnswer& s) {
  std::vector<std::string> by_category;
  for (const auto& c : s.by_category) by_category.push_back(category(c));
  JsonLine line;
  line.text("space", s.space).integer("predicted_bytes", s.predicted.count).integer("measured_bytes", s.measured.count);
  return line.raw("by_category", json_list(by_category)).str();
}

std::string part(const ComparisonAnswer::Part& p) {
  JsonLine line;
  line.text("part", p.part).number("predicted_seconds", p.predicted_seconds);
  return line.number("measured_seconds", p.measured_seconds).str();
}

/// An object whose members stand one a line.
class JsonDocument {
 public:
  JsonDocument& raw(std::string_view key, const std::string& json) {
    members_ += fmt::format("{}\n  \"{}\": {}", members_.empty() ? "" : ",", key, json);
    return *this;
  }
  JsonDocument& number(std::string_view key, double value) { return raw(key, json_number(value)); }
  JsonDocument& text(std::string_view key, std::string_view value) { return raw(key, json_quote(value)); }
  [[nodiscard]] std::string str() const { return "{" + members_ + "\n}"; }

 private:
  std::string members_;
};

std::string adapter(const AdapterAnswer& a) {
  JsonLine line;
  line.integer("rank", a.adapter.rank).number("alpha", a.adapter.alpha).text("targets", to_text(a.adapter.targets));
  line.text("base", to_text(a.adapter.base)).integer("trained_parameters", a.trained_parameters);
  line.integer("training_bytes", a.training.count).integer("whole_training_bytes", a.whole_training.count);
  return line.integer("base_bytes", a.base.count).integer("whole_base_bytes", a.whole_base.count).str();
}

std::string collision(const CollisionAnswer& c) {
  std::vector<std::string> demands;
  for (const auto& demand : c.demands) {
    demands.push_back(JsonLine().text("what", demand.what).integer("bytes", demand.bytes.count).str());
  }
  JsonLine line;
  return line.text("space", c.space).integer("usable_bytes", c.usable.count).raw("demands", json_list(demands)).str();
}

std::string change(const ChangeAnswer& c) {
  JsonLine line;
  line.text("what", c.what).text("strategy", c.strategy).number("step_seconds", c.step_seconds);
  line.integer("more_bytes", c.more.count);
  if (c.at_most) line.flag("at_most", true);
  return line.str();
}

std::optional<double> gap_of(const FitAnswer& a) {
  if (!a.lower_bound_seconds || *a.lower_bound_seconds <= 0) return std::nullopt;
  return a.step_seconds / *a.lower_bound_seconds - 1;
}

std::string margin(const MarginAnswer& m) {
  JsonLine line;
  line.number("percent", m.percent).flag("stays_best", m.loss <= 0).number("loss", m.loss);
  return line.text("against", m.against).text("where", m.where).flag("fits", m.fits).str();
}

std::string model_of(const FitAnswer& a) {
  JsonLine model;
  model.text("name", a.model).integer("parameters", a.parameters);
  if (a.active_parameters < a.parameters) model.integer("active_parameters", a.active_parameters);
  return model.str();
}

std::string redo(const FitAnswer::Redo& r) {
  return JsonLine()
      .number("probability", r.probability)
      .number("step_seconds_never", r.step_seconds_never)
      .number("step_seconds_always", r.step_seconds_always)
      .str();
}

std::string lower_bound(const FitAnswer& a) {
  return JsonLine()
      .raw("step_seconds", number_or_null(a.lower_bound_seconds))
      .raw("peak_bytes", bytes_or_null(a.lower_bound_peak))
      .raw("gap", number_or_null(gap_of(a)))
      .str();
}

std::string fit_document(const FitAnswer& a) {
  JsonDocument json;
  json.raw("format_version", std::to_string(kReportVersion)).text("verdict", a.fits ? "fits" : "does_not_fit");
  json.raw("model", model_of(a));
  if (a.adapter) json.raw("adapter", adapter(*a.adapter));
  json.raw("strategy", a.setup.empty() ? write_strategy_fields(a.strategy)
                                       : JsonLine().text("name", a.strategy.name).text("setup", a.setup).str());
  json.text("stack", a.stack);
  json.number("step_seconds", a.step_seconds).number("step_seconds_low", a.step_seconds_low);
  json.number("step_seconds_high", a.step_seconds_high).number("tokens_per_second", a.tokens_per_second);
  json.number("samples_per_second", a.samples_per_second).number("model_tflops_per_gpu", a.model_tflops_per_gpu);
  json.number("hardware_tflops_per_gpu", a.hardware_tflops_per_gpu).number("bubble_fraction", a.bubble_fraction);
  json.raw("phases", phases(a.phases));
  if (a.redo) json.raw("redo", redo(*a.redo));
  json.raw("memory", lines(a.memory, space));
  json.raw("bottleneck",
           JsonLine().text("resource", a.bottleneck).number("busy_fraction", a.bottleneck_busy_fraction).str());
  json.raw("calibration", JsonLine().text("kind", a.calibration_kind).text("source", a.calibration_source).str());
  json.raw("lower_bound", lower_bound(a));
  if (a.margin) json.raw("margin", margin(*a.margin));
  json.raw("collisions", lines(collisions_of(a), collision)).raw("changes", lines(changes_of(a), change));
  json.raw("alternatives", lines(a.alternatives, alternative));
  json.raw("training", a.training ? to_json(*a.training) : JsonLine().raw("seconds", "null").raw("cost", "null").str());
  if (a.safety) json.raw("safety", to_json(*a.safety));
  if (!a.assumed.empty()) json.raw("assumed", json_list(json_texts(a.assumed)));
  return json.str();
}

std::string losses_json(const ComparedLosses& losses) {
  JsonLine json;
  json.integer("steps", static_cast<std::int64_t>(losses.steps)).flag("same_bits", !losses.first_apart);
  if (losses.unknown > 0) json.integer("not_a_number", static_cast<std::int64_t>(losses.unknown));
  if (const auto& apart = losses.first_apart) {
    json.integer("first_apart", apart->step + 1).number("other", apart->first).number("this", apart->second);
    if (losses.largest) json.number("largest_difference", *losses.largest);
  }
  return json.str();
}

}  // namespace

namespace {

std::string numbers(const std::vector<double>& values) {
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(json_number_17(value));
  return json_list(texts);
}

/// The process beside the spaces whose arenas it holds.
ComparedSpaceAnswer process_answer(const ComparedProcess& process) {
  return {"process",
          process.predicted(),
          process.measured,
          {{"arenas", process.arenas, process.arenas},
           {"events", process.events, process.measured_events},
           {"program", process.program, process.measured_program()}}};
}

}  // namespace

ComparisonAnswer comparison_answer(const Comparison& comparison) {
  ComparisonAnswer answer{.predicted_seconds = to_seconds(comparison.predicted_step),
                          .measured_seconds = to_seconds(comparison.measured_step),
                          .error = comparison.error(),
                          .parts = {},
                          .memory = {},
                          .matched_fraction = comparison.matched_fraction,
                          .untraced_seconds = {},
                          .untraced_error = comparison.untraced_error()};
  if (answer.untraced_error) {
    answer.untraced_seconds = to_seconds(comparison.untraced_step);
    answer.other_untraced_seconds = to_seconds(comparison.untraced_predicted);
  }
  for (const ComparedPart& p : comparison.parts) {
    answer.parts.push_back({std::string(to_text(p.part)), to_seconds(p.predicted), to_seconds(p.measured)});
  }
  for (const ComparedMemory& m : comparison.memory) {
    ComparedSpaceAnswer space{m.space, m.predicted, m.measured, {}};
    for (const auto& c : m.by_category)
      space.by_category.push_back({std::string(to_text(c.kind)), c.predicted, c.measured});
    answer.memory.push_back(std::move(space));
  }
  if (comparison.process) answer.memory.push_back(process_answer(*comparison.process));
  return answer;
}

std::string to_json(const FitAnswer& answer) { return fit_document(answer) + "\n"; }

std::string to_json(const std::vector<FitAnswer>& answers) {
  std::vector<std::string> items;
  for (const FitAnswer& answer : answers) items.push_back(fit_document(answer));
  return json_lines(items, 0) + "\n";
}

std::string to_json(const RunAnswer& a) {
  JsonDocument json;
  json.raw("format_version", std::to_string(kReportVersion)).raw("steps", std::to_string(a.steps));
  if (a.loss_scaling) {
    std::vector<std::string> skipped;
    for (const std::int64_t step : a.loss_scaling->skipped_steps) skipped.push_back(std::to_string(step));
    json.number("loss_scale", a.loss_scaling->scale).raw("skipped_steps", json_list(skipped));
  }
  json.raw("losses", numbers(a.losses));
  if (!a.expert_losses.empty()) {
    json.raw("expert_losses", numbers(a.expert_losses)).raw("expert_overflow", numbers(a.expert_overflow));
  }
  json.number("step_seconds_median", a.step_seconds_median);
  json.raw("predicted_step_seconds", number_or_null(a.predicted_step_seconds));
  json.number("tokens_per_second", a.tokens_per_second).raw("memory", lines(a.memory, compared_space));
  json.raw("migration", a.migration ? migration(*a.migration) : "null");
  std::vector<std::string> evaluations;
  for (const RunAnswer::HeldOut& one : a.evaluations) {
    JsonLine line;
    line.integer("steps", one.steps).raw("loss", json_number_17(one.loss)).raw("accuracy", number_or_null(one.accuracy));
    evaluations.push_back(line.str());
  }
  json.raw("evaluations", json_list(evaluations));
  if (a.safety) json.raw("safety", to_json(*a.safety));
  return json.text("file", a.file).str() + "\n";
}

std::string to_json(const ComparisonAnswer& a) {
  JsonLine step;
  step.number("predicted_seconds", a.predicted_seconds).number("measured_seconds", a.measured_seconds);
  step.number("error", a.error).raw("parts", lines(a.parts, part));
  if (a.untraced_error) {
    step.number("untraced_seconds", *a.untraced_seconds).number("untraced_error", *a.untraced_error);
    if (a.losses) step.number("other_untraced_seconds", *a.other_untraced_seconds);
  }
  JsonDocument json;
  json.raw("format_version", std::to_string(kReportVersion)).raw("step", step.str());
  json.raw("memory", lines(a.memory, compared_space)).number("matched_fraction", a.matched_fraction);
  if (a.losses) json.raw("losses", losses_json(*a.losses)).raw("other_work", json_list(json_texts(a.other_work)));
  return json.str() + "\n";
}

}  // namespace plimsoll
