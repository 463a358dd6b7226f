// The part of RankLowering that writes passes of a pipeline that does not drain between steps.
//
// A step holds forward passes of micro-batches whose backward passes are in later steps (steady_pipeline.h). What these read waits
// in buffers whose slots are steps: the forward pass writes this step's, and the backward pass finds it at an age. The body "fill"
// runs the forward passes that the first step finds behind it.
#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

bool lasts(TensorKind kind) {
  return kind == TensorKind::kParameter || kind == TensorKind::kGradient || kind == TensorKind::kAccumulator;
}

}  // namespace

void RankLowering::find_waiting() {
  const StageOps& stage = cut_.stages[place_];
  std::set<TensorId> found, replaced;
  for (const std::size_t i : stage.forward) {
    for (const Operand& operand : graph_.ops[i].operands) found.insert(whole_of(operand.tensor));
  }
  for (const Crossing& crossing : cut_.crossings) {
    if (crossing.to != place_ || crossing.from_backward || !is_message(crossing)) continue;
    found.insert(whole_of(crossing.tensor));
    arrivals_[whole_of(crossing.tensor)] = steady_.ahead[place_of(crossing.from)];
  }
  for (const std::size_t i : stage.backward) {
    for (const Operand& operand : graph_.ops[i].operands) {
      const TensorId whole = whole_of(operand.tensor);
      if (!reads(operand.access) || lasts(graph_.at(whole).kind)) continue;
      if (found.contains(whole) && !replaced.contains(whole)) wanted_.insert(whole);
    }
    for (const Operand& operand : graph_.ops[i].operands) {
      if (operand.access == Access::kWrite && !graph_.at(operand.tensor).view_of.valid()) replaced.insert(operand.tensor);
    }
  }
}

std::uint32_t RankLowering::offset_of(TensorId whole) const {
  const auto arrival = arrivals_.find(whole);
  return arrival == arrivals_.end() ? ahead() : arrival->second;
}

std::uint32_t RankLowering::age_of(BufferId buffer) const {
  const auto found = made_at_.find(buffer);
  return found == made_at_.end() || !is_steady() ? 0 : steady_.age(now_, found->second);
}

/// One more than the age at which its last reader finds it.
std::uint32_t RankLowering::slots_of(TensorId whole, std::uint32_t q, std::uint32_t made_at) const {
  std::uint32_t oldest = steady_.age(steady_.forward_number(q, place_), made_at);
  if (wanted_.contains(whole)) oldest = std::max(oldest, steady_.age(q % steady_.micro_batches, made_at));
  return oldest + 1;
}

BufferId RankLowering::waiting_buffer(TensorId whole, std::uint32_t q, std::uint32_t made_at) {
  BufferId& buffer = waiting_[{whole, q % steady_.micro_batches}];
  if (buffer.valid()) return buffer;
  const Tensor& tensor = graph_.at(whole);
  const std::uint32_t early = tensor.kind == TensorKind::kTokens ? 1 : 0;  // the next batch loads meanwhile
  buffer = book_.add({.name = tensor.block < 0 ? tensor.name : fmt::format("{} of block {}", tensor.name, tensor.block),
                      .space = places_.device,
                      .bytes = tensor.bytes(),
                      .category = tensor.kind,
                      .slots = slots_of(whole, q, made_at) + early});
  made_at_[buffer] = made_at;
  return buffer;
}

BufferId RankLowering::forward_buffer(TensorId whole, std::uint32_t q, std::uint32_t made_at) {
  const bool of_this_body = made_at == ahead() || (fills_ && q < ahead());
  if (!wanted_.contains(whole) && of_this_body) return make_buffer(graph_.at(whole));
  return waiting_buffer(whole, q, made_at);
}

BufferId RankLowering::batch_buffer(TensorId part, std::uint32_t q) {
  const bool once = fills_ && !wanted_.contains(part);
  return once ? make_buffer(graph_.at(part)) : waiting_buffer(part, q, ahead());
}

/// A place so much nearer to the pipeline's begin gets there as many backward passes later.
void RankLowering::send_from_slots(BufferId sent, std::uint32_t to) {
  Buffer& buffer = plan_.buffers[sent.index];
  if (buffer.persistent) return;
  const std::uint32_t there = job_.place_of(to);
  const std::uint32_t apart = there > place_ ? there - place_ : place_ - there;
  buffer.slots = std::max(buffer.slots, 1 + apart);
}

/// Receives stand in the order in which the sender's forward passes run, one pass ahead of their own.
void RankLowering::announce_forward(std::uint32_t nth) {
  for (std::size_t i = 0; i < cut_.crossings.size(); ++i) {
    const Crossing& crossing = cut_.crossings[i];
    if (crossing.to != place_ || crossing.from_backward || !is_message(crossing)) continue;
    const TensorId whole = whole_of(crossing.tensor);
    now_ = own_micro_batch(fills_ ? 0 : arrivals_.at(whole), nth);
    if (fills_ && now_ >= arrivals_.at(whole)) continue;
    const BufferId buffer = forward_buffer(whole, now_, arrivals_.at(whole));
    arriving_[{i, now_}] = buffer;
    out_.begin_segment("receive", global(now_), -1);
    out_.set_phase(Phase::kForward);
    receive(rank_passing(place_of(crossing.from), now_), static_cast<std::uint32_t>(i), "activations",
            part_of_tensor(crossing.tensor, buffer));
  }
}

void RankLowering::write_steady_pass(PipelineWork work, std::uint32_t q) {
  now_ = q;
  backward_ = work != PipelineWork::kForward;
  std::vector<BufferId>& own = own_[q % own_.size()];
  if (!backward_ || steady_.age(q, ahead()) > 0) std::fill(own.begin(), own.end(), BufferId());
  if (backward_) {
    for (const TensorId whole : wanted_) {
      if (!own[whole.index].valid()) own[whole.index] = waiting_buffer(whole, q, offset_of(whole));
    }
  }
  write_pass({.work = work, .stage = StageId(place_), .micro_batch = MicroBatchId(q)});
  ++pass_;
}

void RankLowering::write_steady_step() {
  for (std::uint32_t i = 0; i < job_.micro_batches() / stride(); ++i) {
    announce_forward(i);
    const std::uint32_t q = own_micro_batch(0, i);
    now_ = q;
    announce({.work = PipelineWork::kBackward, .stage = StageId(place_), .micro_batch = MicroBatchId(q)});
    keep_sent(pass_);
    write_steady_pass(PipelineWork::kForward, q + ahead());
    write_steady_pass(PipelineWork::kBackward, q);
    if (goes_round()) update_after(q, i);
  }
  if (!goes_round()) {
    keep_version(0);
    write_optimizer();
  }
  share_weights();
  report();
}

void RankLowering::write_fill() {
  fills_ = true;
  own_.assign(job_.micro_batches(), std::vector<BufferId>(graph_.tensors.size()));
  loaded_.assign(job_.micro_batches(), false);
  losses_.resize(job_.micro_batches());
  share_weights();
  std::uint32_t most = 0;
  for (const auto& [group, buffers] : versions_) most = std::max(most, plan_.at(buffers.front()).slots);
  for (std::uint32_t age = 0; age < most; ++age) keep_version(age);
  std::uint32_t arriving = ahead();
  for (const auto& [tensor, count] : arrivals_) arriving = std::max(arriving, count);
  for (std::uint32_t nth = 0; own_micro_batch(0, nth) < arriving; ++nth) {
    announce_forward(nth);
    const std::uint32_t q = own_micro_batch(0, nth);
    if (q < ahead()) write_steady_pass(PipelineWork::kForward, q);
  }
}

}  // namespace plimsoll
