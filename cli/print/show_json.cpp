#include "cli/print/show_json.h"

#include <nlohmann/json.hpp>

#include "core/plan/expand.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

ordered_json plan_object(const Plan& plan) {
  ordered_json bodies = ordered_json::array();
  for (const Body& body : plan.bodies)
    bodies.push_back({{"name", body.name}, {"instructions", instruction_count(plan, body)}});
  ordered_json arenas = ordered_json::array();
  for (const Arena& arena : plan.arenas)
    arenas.push_back({{"space", plan.platform.at(arena.space).name}, {"bytes", arena.bytes.count}});
  return {{"model", plan.spec.name},
          {"machine", plan.platform.name},
          {"strategy", {{"name", plan.strategy.name}, {"description", describe(plan.strategy)}}},
          {"bodies", std::move(bodies)},
          {"arenas", std::move(arenas)}};
}

ordered_json trace_object(const NamedTrace& named) {
  ordered_json losses = ordered_json::array();
  for (const StepSummary& step : named.trace.steps) losses.push_back(step.loss);
  return {{"name", named.name},
          {"source", named.trace.source},
          {"plan", named.trace.plan_digest},
          {"steps", named.trace.steps.size()},
          {"events", named.trace.events.size()},
          {"losses", named.trace.kind == TraceKind::kMeasured ? std::move(losses) : ordered_json::array()}};
}

std::string text_of(const ordered_json& object) {
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string show_json(const Plan& plan) {
  ordered_json object{{"format_version", 1}, {"kind", "plan"}};
  object.update(plan_object(plan));
  return text_of(object);
}

std::string show_json(const RunFile& run) {
  ordered_json object{{"format_version", 1},
                      {"kind", run.meta.kind},
                      {"created", run.meta.created},
                      {"command", run.meta.command},
                      {"machine", run.meta.machine},
                      {"tool_version", run.meta.tool_version},
                      {"finished", run.finished},
                      {"plans", ordered_json::array()},
                      {"traces", ordered_json::array()},
                      {"evaluations", ordered_json::array()},
                      {"checkpoints", ordered_json::array()},
                      {"log", ordered_json::array()}};
  for (const NamedPlan& plan : run.plans) {
    ordered_json entry{{"name", plan.name}, {"digest", plan.digest}};
    entry.update(plan_object(plan.plan));
    object["plans"].push_back(std::move(entry));
  }
  for (const NamedTrace& trace : run.traces) object["traces"].push_back(trace_object(trace));
  for (const Evaluation& one : run.evaluations)
    object["evaluations"].push_back({{"step", one.step}, {"loss", one.loss}});
  for (const CheckpointRecord& one : run.checkpoints)
    object["checkpoints"].push_back({{"step", one.step}, {"path", one.path}});
  for (const LogLine& line : run.log) object["log"].push_back({{"level", line.level}, {"text", line.text}});
  return text_of(object);
}

}  // namespace plimsoll
