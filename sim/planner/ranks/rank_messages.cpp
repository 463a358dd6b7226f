// The part of RankLowering that passes on what other stages read.
#include <fmt/format.h>

#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {

bool RankLowering::waits_for(const PipelineOp& op, const Crossing& crossing) const {
  if (crossing.to != op.stage.index || !is_message(crossing)) return false;
  // Where steps overlap, what a forward pass sends is received as forward passes come, though only a backward pass may read it.
  const bool with_backward = is_steady() ? crossing.from_backward : crossing.to_backward;
  if (!with_backward) return op.work == PipelineWork::kForward;
  const bool of_weights = graph_.at(crossing.tensor).kind == TensorKind::kGradient;
  return of_weights ? ends_backward(op.work) : sends_gradient(op.work);
}

bool RankLowering::releases(const PipelineOp& op, const Crossing& crossing) const {
  if (crossing.from != op.stage.index || !is_message(crossing)) return false;
  if (!crossing.from_backward) return op.work == PipelineWork::kForward;
  const bool of_weights = graph_.at(crossing.tensor).kind == TensorKind::kGradient;
  return of_weights ? ends_backward(op.work) : sends_gradient(op.work);
}

QueueId RankLowering::queue_named(const std::string& name) {
  if (const auto known = plan_.platform.queue(name)) return *known;
  const Queue& compute = plan_.platform.at(places_.compute);
  Queue queue{.name = name, .kind = QueueKind::kCommunication, .processor = compute.processor};
  if (plan_.platform.at(compute.processor).kind == ProcessorKind::kCpu) {  // a thread copies and adds
    for (const Demand& demand : compute.demands) queue.demands.push_back({demand.resource, 1.0});
  }
  plan_.platform.queues.push_back(std::move(queue));
  return QueueId(plan_.platform.queues.size() - 1);
}

void RankLowering::send(std::uint32_t to, std::uint32_t channel, const std::string& what, const Range& range) {
  if (is_steady() && !fills_) send_from_slots(range.buffer, to);
  const Exchange message{.kind = ExchangeKind::kSend, .channel = channel, .ranks = {to}};
  out_.exchange(queue_named(fmt::format("{} to {}", what, to)), message, {{range, Access::kRead}});
}

void RankLowering::receive(std::uint32_t from, std::uint32_t channel, const std::string& what, const Range& range) {
  const Exchange message{.kind = ExchangeKind::kReceive, .channel = channel, .ranks = {from}};
  out_.exchange(queue_named(fmt::format("{} from {}", what, from)), message, {{range, Access::kWrite}});
}

namespace {

/// Activations and gradients pass each other on different queues.
const char* stream_of(const Crossing& crossing) { return crossing.from_backward ? "gradients" : "activations"; }

}  // namespace

void RankLowering::announce(const PipelineOp& op) {
  for (std::size_t i = 0; i < cut_.crossings.size(); ++i) {
    const Crossing& crossing = cut_.crossings[i];
    if (!waits_for(op, crossing) || arriving_.contains({i, op.micro_batch.index})) continue;
    out_.begin_segment("receive", global(op.micro_batch.index), -1);
    out_.set_phase(crossing.to_backward ? Phase::kBackward : Phase::kForward);
    const BufferId buffer = make_buffer(graph_.at(whole_of(crossing.tensor)));
    arriving_[{i, op.micro_batch.index}] = buffer;
    receive(rank_passing(place_of(crossing.from), op.micro_batch.index), static_cast<std::uint32_t>(i),
            stream_of(crossing), part_of_tensor(crossing.tensor, buffer));
  }
}

void RankLowering::keep_sent(std::size_t pass) {
  const std::size_t passes = job_.sent_for > 0 ? job_.sent_for : 2 * job_.schedule.ranks() + 2;
  std::erase_if(sent_, [&](const auto& sent) { return sent.first + passes < pass; });
  for (const auto& [when, buffer] : sent_) book_.touch(buffer, out_.next_id() == 0 ? 0 : out_.next_id() - 1);
}

void RankLowering::take_in(const PipelineOp& op) {
  for (std::size_t i = 0; i < cut_.crossings.size(); ++i) {
    if (!waits_for(op, cut_.crossings[i])) continue;
    const auto arrived = arriving_.find({i, op.micro_batch.index});
    BufferId& place = holder(cut_.crossings[i].tensor, op.micro_batch.index);
    if (arrived == arriving_.end()) {  // in the step before
      const TensorId whole = whole_of(cut_.crossings[i].tensor);
      place = forward_buffer(whole, op.micro_batch.index, offset_of(whole));
      continue;
    }
    place = arrived->second;
    own_rows_.erase({op.micro_batch.index, whole_of(cut_.crossings[i].tensor)});
    arriving_.erase(arrived);
  }
}

void RankLowering::send_on(const PipelineOp& op) {
  for (std::size_t i = 0; i < cut_.crossings.size(); ++i) {
    const Crossing& crossing = cut_.crossings[i];
    if (!releases(op, crossing)) continue;
    gather_rows(crossing.tensor, op.micro_batch.index);
    out_.begin_segment("send", global(op.micro_batch.index), -1);
    out_.set_phase(crossing.from_backward ? Phase::kBackward : Phase::kForward);
    for (const std::uint32_t to : ranks_given(place_of(crossing.to), op.micro_batch.index)) {
      send(to, static_cast<std::uint32_t>(i), stream_of(crossing),
           part_of_tensor(crossing.tensor, holder(crossing.tensor, op.micro_batch.index)));
    }
    sent_.emplace_back(pass_, holder(crossing.tensor, op.micro_batch.index));
  }
}

}  // namespace plimsoll
