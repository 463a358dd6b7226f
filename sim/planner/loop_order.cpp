// The part of StepLowering that decides which block of which micro-batch comes next.
#include <algorithm>

#include "sim/planner/step_lowering.h"

namespace plimsoll {
const std::vector<std::size_t>& StepLowering::runs_of(std::int64_t first, std::int64_t last) {
  asked_runs_.clear();
  for (std::int64_t block = first; block <= last; ++block) {
    const std::vector<std::size_t>& of_block = outline_.runs_of_block[static_cast<std::size_t>(block)];
    asked_runs_.insert(asked_runs_.end(), of_block.begin(), of_block.end());
  }
  std::sort(asked_runs_.begin(), asked_runs_.end());
  return asked_runs_;
}

void StepLowering::write_passes(MicroBatches together) {
  const std::vector<Run>& runs = outline_.runs;
  const std::size_t turn = outline_.turn;
  together_ = together;
  for (std::uint32_t m = together.begin; m < together.end; ++m) load_batch(m);
  for (std::size_t r = 0; r < turn; ++r) {
    for (std::uint32_t m = together.begin; m < together.end; ++m) write_run(runs[r], m);
  }
  for (std::uint32_t m = together.begin; m < together.end; ++m) {  // the logits of one micro-batch at a time
    write_run(runs[turn], m);
    write_run(runs[turn + 1], m);
  }
  finish_gradients(runs[turn + 1]);
  for (std::size_t r = turn + 2; r < runs.size(); ++r) write_backward(runs[r]);
}

void StepLowering::write_backward(const Run& run) {
  const std::vector<Run> again = recomputed_before(run);
  for (std::size_t i = 0; i + 1 < again.size(); ++i) {
    for (std::uint32_t m = together_.begin; m < together_.end; ++m) write_run(again[i], m);
  }
  for (std::uint32_t m = together_.begin; m < together_.end; ++m) {  // recomputed and used for one micro-batch at a time
    if (!again.empty()) write_run(again.back(), m);
    write_run(run, m);
  }
  finish_gradients(run);
}

void StepLowering::write_run(const Run& run, std::uint32_t micro_batch) {
  end_lingering();
  out_.begin_segment(run.name, micro_batch, run.block);
  out_.set_phase(run.phase);
  if (micro_batch == together_.begin) run_starts_.push_back(out_.next_id());
  visit_starts_.push_back(out_.next_id());
  fetch_parameters(run.ops);
  bring_activations_back(run, micro_batch);
  for (const std::size_t i : run.ops) write_op(graph_.ops[i], micro_batch);
  send_activations_away(run, micro_batch);
}

}  // namespace plimsoll
