#include "formats/runs/run_file_room.h"

#include "core/plan/expand.h"
#include "formats/plans/plan_json.h"

namespace plimsoll {
namespace {

// A row is a length (3 bytes at most), a byte for each column's type and one for theirs, the columns, and two bytes
// that point at it; whole numbers take 1 to 8 bytes, REAL 8 (sqlite.org/fileformat2.html, sections 1.6 and 2.1). Rows
// come in the order of their key, so that pages are full; an eighth is left for those that are not.
constexpr std::int64_t kEventBytes = (3 + 7 + 2 + (2 + 4 + 4 + 8 + 8 + 1)) * 9 / 8;
constexpr std::int64_t kStepBytes = (3 + 8 + 2 + (2 + 4 + 5 * 8)) * 9 / 8;
/// The plan's digest (16), body, kind, queue and phase (some 16 each at most), name (64) and four numbers.
constexpr std::int64_t kInstructionBytes = (3 + 11 + 2 + (16 + 4 * 16 + 64 + 4 * 8)) * 9 / 8;
constexpr Bytes kTables = 256 * kKiB;  ///< a page or two of each table, log, costs, peaks
/// The journal is put into the file when it has a thousand pages, and after the transaction that it is at.
constexpr Bytes kJournal = 4 * kMiB + 160 * kKiB;

}  // namespace

RunFileContents& RunFileContents::operator+=(const RunFileContents& other) {
  plans += other.plans;
  instructions += other.instructions;
  events += other.events;
  steps += other.steps;
  return *this;
}

RunFileContents contents_of(const Plan& plan, std::int64_t traced_steps) {
  RunFileContents contents{.plans = Bytes(static_cast<std::int64_t>(write_plan(plan).size()))};
  for (const Body& body : plan.bodies) {
    const auto size = static_cast<std::int64_t>(expand(plan, body).size());
    contents.instructions += size;
    if (body.name == "step") contents.events += size * traced_steps;
  }
  return contents;
}

Bytes room_for_run_file(const RunFileContents& contents) {
  const Bytes rows = contents.plans + Bytes(contents.instructions * kInstructionBytes + contents.events * kEventBytes);
  return 2 * rows + Bytes(contents.steps * kStepBytes) + kTables +
         kJournal;  // a transaction lies in the journal and in the file
}

}  // namespace plimsoll
