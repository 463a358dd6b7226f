#include "formats/runs/run_file_tables.h"

#include "core/base/digest.h"
#include "core/plan/expand.h"
#include "formats/plans/instruction_text.h"
#include "formats/text/json_text.h"
#include "formats/plans/plan_json.h"

namespace plimsoll {

RunFileTables::RunFileTables(Database& database)
    : meta_(database, "INSERT INTO meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"),
      plan_(database, "INSERT INTO plans(name, digest, json) VALUES (?, ?, ?)"),
      instruction_(database, "INSERT OR IGNORE INTO instructions VALUES (?, ?, ?, ?, ?, ?, ?, nullif(?, -1), ?, ?)"),
      trace_(database, "INSERT INTO traces VALUES (?, ?, ?, ?, ?, ?, ?)"),
      event_(database, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)"),
      step_(database, "INSERT OR REPLACE INTO step_summaries VALUES (?, ?, ?, ?, ?, ?, ?)"),
      peak_(database, "INSERT INTO peaks(trace, space, category, bytes) VALUES (?, ?, ?, ?)"),
      arena_(database, "INSERT INTO peaks(trace, space, bytes) VALUES (?, ?, ?)"),
      memory_(database, "INSERT INTO memory_samples(time_ns, space, category, bytes) VALUES (?, ?, ?, ?)"),
      cost_(database, "INSERT INTO cost_samples(key, duration_ns, plan_digest) VALUES (?, ?, ?)"),
      evaluation_(database, "INSERT INTO evaluations(step, loss) VALUES (?, ?)"),
      checkpoint_(database, "INSERT INTO checkpoints(step, path, digest) VALUES (?, ?, ?)"),
      log_(database, "INSERT INTO log(time_ns, level, text) VALUES (?, ?, ?)") {}

void RunFileTables::set_meta(std::string_view key, std::string_view value) { meta_.bind(key).bind(value).run(); }

void RunFileTables::insert(const PlanRecord& record) {
  const std::string json = write_plan(record.plan);
  const std::string digest = digest_of(json);
  plan_.bind(record.name).bind(digest).bind(json).run();
  for (const Body& body : record.plan.bodies) insert_instructions(record.plan, body, digest);
}

void RunFileTables::insert_instructions(const Plan& plan, const Body& body, std::string_view digest) {
  const FlatBody flat = expand(plan, body);
  for (std::uint32_t i = 0; i < flat.size(); ++i) {
    const Instruction& instruction = flat.list.instructions[i];
    instruction_.bind(digest).bind(body.name).bind(i).bind(instruction_name(plan, instruction));
    instruction_.bind(to_text(instruction.kind)).bind(std::string_view(plan.platform.at(instruction.queue).name));
    instruction_.bind(to_text(instruction.phase)).bind(std::int64_t{instruction.layer}).bind(flat.micro_batches[i]);
    instruction_.bind(bytes_touched(flat, instruction).count).run();
  }
}

void RunFileTables::insert(const TraceRecord& record) {
  const Trace& trace = record.named.trace;
  trace_.bind(record.id.index).bind(record.named.name).bind(record.named.body);
  trace_.bind(std::string_view(trace.kind == TraceKind::kPredicted ? "predicted" : "measured"));
  trace_.bind(trace.plan_digest).bind(trace.source);
  trace_.bind(std::string_view(json_list(json_texts(trace.calibrated_from)))).run();
  insert(EventsRecord{record.id, trace.events});
  insert(StepsRecord{record.id, trace.steps});
  insert(PeaksRecord{record.id, trace.peaks});
}

void RunFileTables::insert(const EventsRecord& record) {
  for (const TraceEvent& event : record.events) {
    event_.bind(record.trace.index)
        .bind(event.step)
        .bind(event.instruction)
        .bind(event.start.count)
        .bind(event.end.count);
    event_.bind(std::int64_t{static_cast<std::uint8_t>(event.status)}).run();
  }
}

void RunFileTables::insert(const StepsRecord& record) {
  for (const StepSummary& step : record.steps) {
    step_.bind(record.trace.index).bind(step.step).bind(step.start.count).bind(step.end.count);
    step_.bind(step.loss).bind(step.gradient_norm).bind(step.learning_rate).run();
  }
}

void RunFileTables::insert(const PeaksRecord& record) {
  for (const SpacePeak& peak : record.peaks) {
    arena_.bind(record.trace.index).bind(peak.space.index).bind(peak.bytes.count).run();
    for (const auto& [kind, bytes] : peak.by_category) {
      peak_.bind(record.trace.index).bind(peak.space.index).bind(to_text(kind)).bind(bytes.count).run();
    }
  }
}

void RunFileTables::insert(const std::vector<MemorySample>& samples) {
  for (const MemorySample& sample : samples) {
    memory_.bind(sample.time.count).bind(sample.space).bind(sample.category);
    memory_.bind(sample.bytes.count).run();
  }
}

void RunFileTables::insert(const std::vector<CostSample>& samples) {
  for (const CostSample& sample : samples) {
    cost_.bind(sample.key).bind(sample.duration.count).bind(sample.plan_digest).run();
  }
}

void RunFileTables::insert(const Evaluation& evaluation) {
  evaluation_.bind(evaluation.step).bind(evaluation.loss).run();
}

void RunFileTables::insert(const CheckpointRecord& checkpoint) {
  checkpoint_.bind(checkpoint.step).bind(checkpoint.path).bind(checkpoint.digest).run();
}

void RunFileTables::insert(const LogLine& line) { log_.bind(line.time.count).bind(line.level).bind(line.text).run(); }

}  // namespace plimsoll
