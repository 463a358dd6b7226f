// The part of StepLowering that sends what backward reads away from the device after forward, and brings it back.
#include <algorithm>

#include "sim/planner/step_lowering.h"

namespace plimsoll {

void StepLowering::find_leaving() {
  leaving_.assign(static_cast<std::size_t>(graph_.spec.blocks()), {});
  if (plan_.strategy.activations == Tier::kDevice) return;
  away_.assign(micro_batches(), std::vector<BufferId>(graph_.tensors.size()));
  find_shared_activations();
  const std::int64_t segment = std::max<std::int64_t>(1, plan_.strategy.recompute_every);
  for (std::int64_t first = 0; first < plan_.strategy.activation_blocks; first += segment) {
    const std::int64_t last = std::min(first + segment, graph_.spec.blocks()) - 1;
    for (const TensorId tensor : kept_for_backward(first, last)) {  // the segment's input is of an earlier block
      if (is_of_many_blocks(tensor)) continue;
      leaving_[static_cast<std::size_t>(std::clamp(graph_.at(tensor).block, first, last))].push_back(tensor);
    }
  }
}

/// What the backward passes of many blocks read (an encoder's output) is needed from the first of them on to the last.
void StepLowering::find_shared_activations() {
  constexpr std::int64_t kNone = -1, kMany = -2;
  std::vector<std::int64_t> reader(graph_.tensors.size(), kNone);
  for (const Op& op : graph_.ops) {
    if (op.phase != Phase::kBackward || op.block < 0) continue;
    for (const Operand& operand : op.operands) {
      std::int64_t& known = reader[whole_of(operand.tensor).index];
      if (reads(operand.access)) known = known == kNone || known == op.block ? op.block : kMany;
    }
  }
  of_many_blocks_.assign(graph_.tensors.size(), 0);
  for (std::size_t i = 0; i < reader.size(); ++i) of_many_blocks_[i] = reader[i] == kMany ? 1 : 0;
}

std::vector<TensorId> StepLowering::kept_for_backward(std::int64_t first, std::int64_t last) {
  std::vector<std::size_t> ops;
  if (plan_.strategy.recompute_every > 0) ops = needed_for_backward(first, last);
  for (const std::size_t r : runs_of(first, last)) {
    const Run& run = outline_.runs[r];
    if (run.phase == Phase::kBackward) ops.insert(ops.end(), run.ops.begin(), run.ops.end());
  }
  made_in_.resize(graph_.tensors.size(), 0);
  const std::uint32_t question = ++question_;
  std::vector<TensorId> kept;
  for (const std::size_t i : ops) {
    for (const Operand& operand : graph_.ops[i].operands) {
      const TensorId tensor = whole_of(operand.tensor);
      if (graph_.at(tensor).kind != TensorKind::kActivation) continue;
      if (reads(operand.access) && made_in_[tensor.index] != question) kept.push_back(tensor);
      if (writes(operand.access)) made_in_[tensor.index] = question;
    }
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

void StepLowering::send_activations_away(const Run& run, std::uint32_t micro_batch) {
  if (run.phase != Phase::kForward || run.block < 0) return;
  const std::int64_t behind = plan_.strategy.staging_slots - 1;
  const bool to_ssd = plan_.strategy.activations == Tier::kSsd && run.block >= plan_.strategy.host_activation_blocks;
  for (const TensorId tensor : leaving_[static_cast<std::size_t>(run.block)]) {
    const BufferId device = holder(tensor, micro_batch);
    BufferId stored = to_ssd && places_.writes_directly ? device : fetch_to_host(device);
    linger(device, behind);
    if (to_ssd) {
      const BufferId passing = stored;
      stored = make_buffer(graph_.at(tensor), *places_.ssd);
      out_.copy(*places_.ssd_write, InstructionKind::kWrite, out_.whole(passing), out_.whole(stored));
      if (passing != device) linger(passing, 2 * behind);
    }
    away_[micro_batch][tensor.index] = stored;
    ++away_count_;
  }
}

void StepLowering::bring_activations_back(const Run& run, std::uint32_t micro_batch) {
  if (run.phase != Phase::kBackward || away_count_ == 0) return;
  for (const std::size_t i : run.ops) {
    for (const Operand& operand : graph_.ops[i].operands) {
      const TensorId tensor = whole_of(operand.tensor);
      BufferId& stored = away_[micro_batch][tensor.index];
      if (!stored.valid() || !reads(operand.access)) continue;
      holder(tensor, micro_batch) = bring_back(graph_.at(tensor), stored);
      stored = {};
      --away_count_;
    }
  }
}

BufferId StepLowering::bring_back(const Tensor& tensor, BufferId stored) {
  const std::int64_t ahead = plan_.strategy.staging_slots - 1;
  if (plan_.at(stored).space != places_.host && !places_.reads_directly) {
    const BufferId staged = make_buffer(tensor, places_.host);
    out_.copy(*places_.ssd_read, InstructionKind::kRead, out_.whole(stored), out_.whole(staged));
    arrive_early(staged, 2 * ahead);
    stored = staged;
  }
  const BufferId device = make_buffer(tensor, places_.device);
  copy_to_device(out_.whole(stored), out_.whole(device));
  arrive_early(device, ahead);
  return device;
}

void StepLowering::arrive_early(BufferId buffer, std::int64_t visits) {
  const auto last = static_cast<std::int64_t>(visit_starts_.size()) - 1;
  book_.touch(buffer, visit_starts_[static_cast<std::size_t>(std::max<std::int64_t>(0, last - visits))]);
}

void StepLowering::linger(BufferId buffer, std::int64_t visits) {
  if (visits > 0) lingering_.push_back({buffer, visit_starts_.size() + static_cast<std::size_t>(visits)});
}

void StepLowering::end_lingering() {
  std::erase_if(lingering_, [&](const Lingering& waiting) {
    if (visit_starts_.size() < waiting.visits) return false;
    book_.touch(waiting.buffer, out_.next_id() - 1);
    return true;
  });
}

}  // namespace plimsoll
