#include "sim/planner/operators/spare_runs.h"

#include <algorithm>
#include <utility>

#include "sim/planner/operators/weigh_runs.h"

namespace plimsoll {
namespace {

/// Looking through what is held beside so many runs takes as long as one run that is looked at.
constexpr std::uint64_t kScanned = 16;

/// A run that may be left out: what it writes would wait from the last place where it was there.
struct SpareRun {
  std::size_t place, from;
  std::int64_t bytes;
  double worth;
};

/// All of them, the worthiest first.
std::vector<SpareRun> spare_candidates(const OperatorGraph& graph, const OperatorRuns& runs) {
  std::vector<SpareRun> spare;
  std::vector<std::size_t> last(graph.storages.size(), 0);
  std::vector<char> ran(graph.operators.size(), 0);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Operator& one = graph.at(runs[i]);
    if (ran[runs[i].index]++ != 0) {
      std::size_t from = i;
      for (const ValueId value : one.outputs) from = std::min(from, last[graph.at(value).storage.index]);
      const double waiting = static_cast<double>(one.written.count) * static_cast<double>(i - from);
      spare.push_back({i, from, one.written.count, static_cast<double>(one.time.count) / std::max(1.0, waiting)});
      ran[runs[i].index] = 1;
    }
    for (const auto* values : {&one.inputs, &one.outputs}) {
      for (const ValueId value : *values) last[graph.at(value).storage.index] = i;
    }
  }
  std::stable_sort(spare.begin(), spare.end(), [](const SpareRun& a, const SpareRun& b) { return a.worth > b.worth; });
  return spare;
}

/// Whether any such run was left out.
bool sweep(const OperatorGraph& graph, OperatorRuns& runs, Bytes budget, std::uint64_t& work) {
  RunsWeight weight = weigh_runs(graph, runs);
  bool any = false;
  for (const SpareRun& spare : spare_candidates(graph, runs)) {
    if (!runs[spare.place].valid()) continue;
    const std::uint64_t scan = (spare.place - spare.from) / kScanned + 1;
    if (work < runs.size() + scan) break;
    work -= scan;
    const auto begin = weight.held.begin();
    const auto first = begin + static_cast<std::ptrdiff_t>(spare.from + 1),
               last = begin + static_cast<std::ptrdiff_t>(spare.place);
    const bool may = first == last || *std::max_element(first, last) + spare.bytes <= budget.count;
    if (!may) continue;
    work -= runs.size();
    const OperatorId left_out = std::exchange(runs[spare.place], OperatorId());
    RunsWeight lighter = weigh_runs(graph, runs);
    if (lighter.peak > budget || lighter.time >= weight.time) {
      runs[spare.place] = left_out;
      continue;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (lighter.useless[i] != 0) runs[i] = OperatorId();
    }
    weight = std::move(lighter);
    any = true;
  }
  runs = without_useless(runs, weight);
  return any;
}

}  // namespace

OperatorRuns spare_runs(const OperatorGraph& graph, OperatorRuns runs, Bytes budget, std::uint64_t most_work) {
  while (sweep(graph, runs, budget, most_work)) {
  }
  return runs;
}

}  // namespace plimsoll
