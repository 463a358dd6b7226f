// The part of StepLowering that decides which block of which micro-batch comes next.
#include <algorithm>

#include "sim/planner/step_lowering.h"

namespace plimsoll {
namespace {

std::string_view name_of_run(Phase phase, std::int64_t block, bool first) {
  if (phase == Phase::kForward) return block >= 0 ? "forward block" : first ? "embedding" : "head and loss";
  return block >= 0 ? "backward block" : first ? "head backward" : "embedding backward";
}

}  // namespace

void StepLowering::find_runs() {
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    if (op.phase == Phase::kOptimizer) break;
    const bool starts_phase = runs_.empty() || runs_.back().phase != op.phase;
    if (starts_phase || runs_.back().block != op.block) {
      runs_.push_back({.phase = op.phase, .block = op.block, .name = name_of_run(op.phase, op.block, starts_phase)});
    }
    runs_.back().ops.push_back(i);
    if (op.phase == Phase::kForward) turn_ = runs_.size() - 1;
  }
  for (std::size_t i = 1; i + 1 < runs_.size(); ++i) {
    Run& run = runs_[i];
    const bool inside = runs_[i - 1].phase == run.phase && runs_[i + 1].phase == run.phase;
    if (run.block < 0 && inside) run.name = run.phase == Phase::kForward ? "encoder output" : "encoder output backward";
  }
  runs_of_block_.resize(static_cast<std::size_t>(graph_.spec.blocks()));
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::int64_t block = runs_[i].block;
    if (block >= 0 && block < graph_.spec.blocks()) runs_of_block_[static_cast<std::size_t>(block)].push_back(i);
  }
}

std::vector<const StepLowering::Run*> StepLowering::runs_of(std::int64_t first, std::int64_t last) const {
  std::vector<std::size_t> indices;
  for (std::int64_t block = first; block <= last; ++block) {
    const std::vector<std::size_t>& of_block = runs_of_block_[static_cast<std::size_t>(block)];
    indices.insert(indices.end(), of_block.begin(), of_block.end());
  }
  std::sort(indices.begin(), indices.end());
  std::vector<const Run*> runs;
  for (const std::size_t i : indices) runs.push_back(&runs_[i]);
  return runs;
}

void StepLowering::find_completing_runs() {
  std::map<TensorId, Run*> last_writer;
  for (Run& run : runs_) {
    for (const std::size_t i : run.ops) {
      for (const Operand& operand : graph_.ops[i].operands) {
        const Tensor& tensor = graph_.at(operand.tensor);
        if (tensor.kind == summed_kind()) last_writer[tensor.view_of.valid() ? tensor.view_of : operand.tensor] = &run;
      }
    }
  }
  for (const auto& [sum, run] : last_writer) run->completes.push_back(sum);
}

void StepLowering::write_passes(MicroBatches together) {
  together_ = together;
  for (std::uint32_t m = together.begin; m < together.end; ++m) load_batch(m);
  for (std::size_t r = 0; r < turn_; ++r) {
    for (std::uint32_t m = together.begin; m < together.end; ++m) write_run(runs_[r], m);
  }
  for (std::uint32_t m = together.begin; m < together.end; ++m) {  // the logits of one micro-batch at a time
    write_run(runs_[turn_], m);
    write_run(runs_[turn_ + 1], m);
  }
  finish_gradients(runs_[turn_ + 1]);
  for (std::size_t r = turn_ + 2; r < runs_.size(); ++r) write_backward(runs_[r]);
}

void StepLowering::write_backward(const Run& run) {
  std::vector<Run> again = recomputed_before(run);
  std::vector<Run> last{run};  // recomputed and used for one micro-batch at a time
  if (!again.empty()) {
    last.insert(last.begin(), again.back());
    again.pop_back();
  }
  for (const Run& recomputed : again) {
    for (std::uint32_t m = together_.begin; m < together_.end; ++m) write_run(recomputed, m);
  }
  for (std::uint32_t m = together_.begin; m < together_.end; ++m) {
    for (const Run& next : last) write_run(next, m);
  }
  finish_gradients(run);
}

void StepLowering::write_run(const Run& run, std::uint32_t micro_batch) {
  end_lingering();
  out_.begin_segment(std::string(run.name), micro_batch, run.block);
  out_.set_phase(run.phase);
  if (micro_batch == together_.begin) run_starts_.push_back(out_.next_id());
  visit_starts_.push_back(out_.next_id());
  fetch_parameters(run.ops);
  bring_activations_back(run, micro_batch);
  for (const std::size_t i : run.ops) write_op(graph_.ops[i], micro_batch);
  send_activations_away(run, micro_batch);
}

}  // namespace plimsoll
