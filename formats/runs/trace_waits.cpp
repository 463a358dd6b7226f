#include "formats/runs/trace_waits.h"

#include <algorithm>
#include <map>
#include <utility>

namespace plimsoll {
namespace {

/// Measured ends may lie that much behind the starts that waited for them.
constexpr Nanoseconds kGrain{1000};

class WaitFinder {
 public:
  WaitFinder(const FlatBody& body, const Trace& trace, const QueueLanes& lanes)
      : body_(body), trace_(trace), lanes_(lanes) {
    for (std::size_t e = 0; e < trace.events.size(); ++e) at_[{trace.events[e].step, trace.events[e].instruction}] = e;
    behind_markers_.resize(trace.events.size());
  }

  std::vector<TraceWait> find() {
    for (std::size_t e = 0; e < trace_.events.size(); ++e) {
      const Instruction& instruction = instruction_of(e);
      std::map<Lane, std::size_t> last;
      for (const std::size_t from : sources_of(e, instruction)) keep_last(last, from);
      if (takes_time(instruction)) {
        add_waits(last, e);
      } else {
        add_queue_predecessor(e, instruction, last);
        for (const auto& [lane, from] : last) behind_markers_[e].push_back(from);
      }
    }
    return std::move(found_);
  }

 private:
  using Lane = std::pair<std::uint32_t, std::uint32_t>;

  [[nodiscard]] const Instruction& instruction_of(std::size_t e) const {
    return body_.list.instructions[trace_.events[e].instruction];
  }
  [[nodiscard]] Lane lane_of(std::size_t e) const { return {instruction_of(e).queue.index, lanes_.lane[e]}; }

  /// Events that its dependencies name, markers replaced by what they waited for.
  [[nodiscard]] std::vector<std::size_t> sources_of(std::size_t e, const Instruction& instruction) const {
    std::vector<std::size_t> sources;
    const TraceEvent& event = trace_.events[e];
    for (const Dependency& dependency : body_.dependencies(instruction)) {
      if (dependency.distance > event.step) continue;
      const auto found = at_.find({event.step - dependency.distance, dependency.target});
      if (found == at_.end()) continue;
      if (takes_time(instruction_of(found->second))) {
        sources.push_back(found->second);
      } else {
        const auto& more = behind_markers_[found->second];
        sources.insert(sources.end(), more.begin(), more.end());
      }
    }
    return sources;
  }

  /// A marker also comes after what stands before it in its queue.
  void add_queue_predecessor(std::size_t e, const Instruction& instruction, std::map<Lane, std::size_t>& last) {
    for (std::size_t before = e; before-- > 0;) {
      if (instruction_of(before).queue != instruction.queue) continue;
      if (takes_time(instruction_of(before))) return keep_last(last, before);
      for (const std::size_t from : behind_markers_[before]) keep_last(last, from);
      return;
    }
  }

  void keep_last(std::map<Lane, std::size_t>& last, std::size_t from) const {
    const auto [known, is_new] = last.try_emplace(lane_of(from), from);
    if (!is_new && trace_.events[from].end > trace_.events[known->second].end) known->second = from;
  }

  void add_waits(const std::map<Lane, std::size_t>& last, std::size_t to) {
    const Lane own = lane_of(to);
    for (const auto& [lane, from] : last) {
      if (lane != own && trace_.events[from].end <= trace_.events[to].start + kGrain) found_.push_back({from, to});
    }
  }

  const FlatBody& body_;
  const Trace& trace_;
  const QueueLanes& lanes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> at_;  ///< events by step and instruction
  std::vector<std::vector<std::size_t>> behind_markers_;
  std::vector<TraceWait> found_;
};

}  // namespace

bool takes_time(const Instruction& instruction) { return instruction.kind != InstructionKind::kMarker; }

std::vector<TraceWait> trace_waits(const FlatBody& body, const Trace& trace, const QueueLanes& lanes) {
  return WaitFinder(body, trace, lanes).find();
}

}  // namespace plimsoll
