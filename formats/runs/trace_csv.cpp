#include "formats/runs/trace_csv.h"

#include <fmt/format.h>

#include "formats/plans/instruction_text.h"
#include "formats/runs/trace_recording.h"
#include "formats/text/csv.h"

namespace plimsoll {
namespace {

void write_rows(std::ostream& out, const Plan& plan, const NamedTrace& named) {
  const TraceLayout layout = lay_out_trace(plan, named);
  const std::string trace = csv_field(named.name);
  for (std::size_t e = 0; e < named.trace.events.size(); ++e) {
    const TraceEvent& event = named.trace.events[e];
    const Instruction& instruction = layout.body.list.instructions[event.instruction];
    out << fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", trace, to_text(instruction.kind), event.step,
                       event.instruction, csv_field(instruction_name(plan, layout.body, instruction)),
                       csv_field(plan.platform.at(instruction.queue).name), layout.lanes.lane[e],
                       to_text(instruction.phase), instruction.layer, layout.body.micro_batches[event.instruction],
                       event.start.count, event.end.count, bytes_touched(layout.body, instruction).count,
                       status_text(event.status));
  }
}

}  // namespace

void write_trace_csv(std::ostream& out, const Plan& plan, const std::vector<const NamedTrace*>& traces) {
  out << "trace,kind,step,id,name,queue,lane,phase,layer,micro_batch,start_ns,end_ns,bytes,status\n";
  for (const NamedTrace* named : traces) write_rows(out, plan, *named);
}

}  // namespace plimsoll
