#pragma once

#include <string>
#include <variant>
#include <vector>

#include "formats/runs/run_file.h"
#include "formats/runs/statement.h"

namespace plimsoll {

using StoredTraceId = StrongId<struct StoredTraceTag>;

/// What can be added to a run file.
struct PlanRecord {
  std::string name;
  Plan plan;
};
struct TraceRecord {
  StoredTraceId id;
  NamedTrace named;
};
struct EventsRecord {
  StoredTraceId trace;
  std::vector<TraceEvent> events;
};
struct StepsRecord {
  StoredTraceId trace;
  std::vector<StepSummary> steps;
};
struct PeaksRecord {
  StoredTraceId trace;
  std::vector<SpacePeak> peaks;
};
using RunRecord =
    std::variant<PlanRecord, TraceRecord, EventsRecord, StepsRecord, PeaksRecord, std::vector<MemorySample>,
                 std::vector<CostSample>, Evaluation, CheckpointRecord, LogLine>;

/// The tables of a run file, ready to be filled. Inserts throw EnvironmentError; transactions are the caller's.
class RunFileTables {
 public:
  explicit RunFileTables(Database& database);

  void set_meta(std::string_view key, std::string_view value);
  void insert(const PlanRecord& record);
  void insert(const TraceRecord& record);
  void insert(const EventsRecord& record);
  void insert(const StepsRecord& record);
  void insert(const PeaksRecord& record);
  void insert(const std::vector<MemorySample>& samples);
  void insert(const std::vector<CostSample>& samples);
  void insert(const Evaluation& evaluation);
  void insert(const CheckpointRecord& checkpoint);
  void insert(const LogLine& line);

 private:
  void insert_instructions(const Plan& plan, const Body& body, std::string_view digest);

  Statement meta_;
  Statement plan_;
  Statement instruction_;
  Statement trace_;
  Statement event_;
  Statement step_;
  Statement peak_;
  Statement arena_;
  Statement memory_;
  Statement cost_;
  Statement evaluation_;
  Statement checkpoint_;
  Statement log_;
};

}  // namespace plimsoll
