// The part of RankLowering that writes the passes of stages.
#include <fmt/format.h>

#include <algorithm>

#include "core/graph/batch_parts.h"
#include "sim/planner/ranks/rank_lowering.h"

namespace plimsoll {
namespace {

bool is_shared(TensorKind kind) {
  return kind == TensorKind::kParameter || kind == TensorKind::kAccumulator || kind == TensorKind::kMaster ||
         kind == TensorKind::kFirstMoment || kind == TensorKind::kSecondMoment;
}

bool is_gradient(TensorKind kind) { return kind == TensorKind::kGradient || kind == TensorKind::kAccumulator; }

std::vector<std::uint32_t> places_of_stages(const PipelineSchedule& schedule) {
  const std::vector<RankId> cells = rank_of_cells(schedule);
  std::vector<std::uint32_t> places;
  if (schedule.goes_round()) {  // a stage each
    for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) places.push_back(stage);
    return places;
  }
  for (std::uint32_t stage = 0; stage < schedule.stages; ++stage)
    places.push_back(cells[schedule.cell(StageId(stage), MicroBatchId(0))].index);
  return places;
}

}  // namespace

RankLowering::RankLowering(const RankJob& job, std::uint32_t rank, const Graph& graph, const StageCut& cut, Plan& plan,
                           BufferBook& book, const Places& places)
    : job_(job),
      graph_(graph),
      cut_(cut),
      plan_(plan),
      book_(book),
      places_(places),
      out_(plan, book),
      rank_(rank),
      place_(job.place_of(rank)),
      replica_(job.replica_of(rank)),
      slice_(job.slice_of(rank)),
      place_of_stage_(places_of_stages(job.schedule)),
      shared_(graph.tensors.size()),
      own_(job.micro_batches(), std::vector<BufferId>(graph.tensors.size())),
      loaded_(job.micro_batches(), false),
      losses_(job.micro_batches()),
      expert_losses_(job.micro_batches()) {
  reserve_states();
  if (!is_steady()) return;
  steady_ = steady_pipeline(job.schedule);
  reserve_versions();
  find_waiting();
}

RankLowering::RankLowering(const RankLowering& step, const Graph& graph, const StageCut& cut)
    : job_(step.job_),
      graph_(graph),
      cut_(cut),
      plan_(step.plan_),
      book_(step.book_),
      places_(step.places_),
      out_(step.plan_, step.book_),
      rank_(step.rank_),
      place_(step.place_),
      replica_(step.replica_),
      slice_(step.slice_),
      place_of_stage_(step.place_of_stage_),
      groups_(step.groups_),
      shared_(graph.tensors.size()),
      own_(1, std::vector<BufferId>(graph.tensors.size())),
      loaded_(1, false),
      losses_(1),
      steady_(step.steady_),
      versions_(step.versions_),
      wanted_(step.wanted_),
      arrivals_(step.arrivals_),
      waiting_(step.waiting_),
      made_at_(step.made_at_) {
  share_parameters();
}

BufferId& RankLowering::holder(TensorId tensor, std::uint32_t micro_batch) {
  const TensorId whole = whole_of(tensor);
  return is_shared(graph_.at(tensor).kind) ? shared_[whole.index] : own_[micro_batch % own_.size()][whole.index];
}

BufferId RankLowering::make_buffer(const Tensor& tensor) {
  return book_.add({.name = tensor.block < 0 ? tensor.name : fmt::format("{} of block {}", tensor.name, tensor.block),
                    .space = places_.device,
                    .bytes = tensor.bytes(),
                    .category = tensor.kind});
}

Range RankLowering::part_of_tensor(TensorId tensor, BufferId buffer) const {
  const Tensor& of = graph_.at(tensor);
  return {buffer, Bytes(of.view_offset * size_of(of.dtype)), of.bytes(), age_of(buffer)};
}

Range RankLowering::range_of(const Operand& operand, std::uint32_t micro_batch) {
  const Tensor& tensor = graph_.at(operand.tensor);
  if (const auto older = older_weights(operand.tensor)) return *older;
  BufferId& buffer = holder(operand.tensor, micro_batch);
  const bool fresh = !tensor.view_of.valid() && operand.access == Access::kWrite && !is_gradient(tensor.kind) &&
                     tensor.kind != TensorKind::kParameter;
  const bool waits = is_steady() && !backward_ && !is_gradient(tensor.kind);
  if (fresh || !buffer.valid()) {
    const TensorId whole = whole_of(operand.tensor);
    buffer = waits ? forward_buffer(whole, micro_batch, ahead()) : make_buffer(graph_.at(whole));
  }
  return part_of_tensor(operand.tensor, buffer);
}

std::vector<std::pair<Range, Access>> RankLowering::operands_of(const Op& op, std::uint32_t micro_batch) {
  gather_what_is_read(op, micro_batch);
  std::vector<std::pair<Range, Access>> operands;
  for (const Operand& operand : op.operands) {
    const bool sums = op.kind == OpKind::kAccumulate && writes(operand.access);
    const TensorId whole = whole_of(operand.tensor);
    const bool starts = sums && begun_.emplace(whole, graph_.at(operand.tensor).view_offset).second;
    if (sums) ++summed_[whole];
    operands.emplace_back(range_of(operand, micro_batch), starts ? Access::kWrite : operand.access);
  }
  return operands;
}

void RankLowering::launch(const Op& op, const std::vector<std::pair<Range, Access>>& operands) {
  out_.launch(places_.compute, {op.kind, op.dtype, shape_on_slice(op)}, operands);
  if (op.kind == OpKind::kAccumulate) complete_sum(whole_of(op.operands[1].tensor));
}

void RankLowering::launch(const Op& op, std::uint32_t micro_batch) {
  if (op.kind == OpKind::kAccumulate && divides_gradients()) {
    const TensorId sum = whole_of(op.operands[1].tensor);
    const GroupId group = graph_.at(sum).group;
    if (group.valid() && divides_gradients(group) && !is_tied(sum)) return scatter_gradient(op, micro_batch);
  }
  if (works_on_own_rows(op)) return launch_on_own_rows(op, micro_batch);
  auto operands = operands_of(op, micro_batch);
  if (is_expert_exchange(op.kind)) return exchange_with_experts(op, operands);
  if (job_.context > 1 && op.kind == OpKind::kAttention) return attend_in_ring(op, operands);
  if (job_.context > 1 && op.kind == OpKind::kAttentionBackward) return attend_back_in_ring(op, operands);
  leave_bias_to_first(op, operands);
  launch(op, operands);
  sum_over_slices(op, operands.back().first, micro_batch);
  if (op.kind == OpKind::kCrossEntropy) losses_[micro_batch % losses_.size()] = operands.back().first.buffer;
  if (op.kind == OpKind::kExpertBalance) expert_losses_[micro_batch] = operands.back().first.buffer;
  if (op.kind != OpKind::kLoss) return;
  losses_[micro_batch % losses_.size()] = operands[2].first.buffer;
  if (operands.size() > 3) right_answers_ = operands[3].first.buffer;
}

void RankLowering::enter(const Op& op, std::uint32_t micro_batch, const char* name) {
  entered_ = {name, micro_batch, op.block, op.phase};
  go_on();
}

void RankLowering::go_on() {
  out_.begin_segment(entered_.name, global(entered_.micro_batch), entered_.block);
  out_.set_phase(entered_.phase);
}

template <typename Each>
void RankLowering::for_each_op(const std::vector<std::size_t>& ops, std::uint32_t micro_batch, const char* name,
                               const Each& each) {
  const auto end_of_run = [&](std::size_t begin) {
    std::size_t end = begin;
    while (end < ops.size() && graph_.ops[ops[end]].block == graph_.ops[ops[begin]].block) ++end;
    return end;
  };
  Gathered next = gather_weights(ops, 0, end_of_run(0));
  for (std::size_t begin = 0, end = 0; begin < ops.size(); begin = end) {
    end = end_of_run(begin);
    use_weights(next);
    next = gather_weights(ops, end, end_of_run(end));
    enter(graph_.ops[ops[begin]], micro_batch, name);
    for (std::size_t i = begin; i < end; ++i) each(graph_.ops[ops[i]]);
  }
}

RankLowering::Gathered RankLowering::gather_weights(const std::vector<std::size_t>& ops, std::size_t begin, std::size_t end) {
  Gathered gathered;
  for (std::size_t i = begin; divides_weights() && i < end; ++i) {
    for (const Operand& operand : graph_.ops[ops[i]].operands) {
      const Tensor& whole = graph_.at(whole_of(operand.tensor));
      if (whole.kind != TensorKind::kParameter || gathered.contains(whole.group)) continue;
      if (!divides_weights(whole.group)) continue;
      const BufferId buffer = make_buffer(whole);
      gathered[whole.group] = buffer;
      out_.begin_segment("gather weights", 0, whole.block);
      out_.exchange(queue_named("weights"),
                    among_replicas(ExchangeKind::kAllGather, whole.dtype, kWeightsChannel + whole.group.index),
                    {{out_.whole(groups_.at(whole.group).parameters), Access::kRead}, {out_.whole(buffer), Access::kWrite}});
    }
  }
  return gathered;
}

void RankLowering::use_weights(const Gathered& gathered) {
  for (std::size_t i = 0; i < graph_.tensors.size() && !gathered.empty(); ++i) {
    const Tensor& tensor = graph_.tensors[i];
    if (tensor.kind != TensorKind::kParameter || tensor.view_of.valid()) continue;
    const auto found = gathered.find(tensor.group);
    if (found != gathered.end()) shared_[i] = found->second;
  }
}

bool RankLowering::reads_batch(std::uint32_t stage) const {
  for (const std::size_t i : cut_.stages[stage].forward) {
    for (const Operand& operand : graph_.ops[i].operands) {
      if (graph_.at(operand.tensor).kind == TensorKind::kTokens) return true;
    }
  }
  return false;
}

void RankLowering::load_batch(std::uint32_t micro_batch) {
  if (!is_steady() && loaded_[micro_batch]) return;
  loaded_[micro_batch % loaded_.size()] = true;
  out_.begin_segment("load", global(micro_batch), -1);
  out_.set_phase(Phase::kLoad);
  const auto make = [&](TensorId part, SpaceId space, Bytes bytes) {
    return book_.add({.name = fmt::format("{} of micro-batch {}", graph_.at(part).name, global(micro_batch)),
                      .space = space,
                      .bytes = bytes,
                      .category = TensorKind::kTokens,
                      .slots = 2});
  };
  const std::vector<BatchPart> whole = batch_parts(job_.spec, job_.recipe);
  const std::size_t parts = whole.size();
  std::vector<std::pair<Range, Access>> loaded;
  for (std::size_t part = 0; part < parts; ++part) {  // the graph's first tensors
    loaded.emplace_back(out_.whole(make(TensorId(part), places_.host, Bytes(whole[part].bytes()))), Access::kWrite);
  }
  out_.host_work(places_.data, HostTask::kLoadTokens, loaded);
  for (std::size_t part = 0; part < parts; ++part) {
    const Bytes own = graph_.at(TensorId(part)).bytes();
    const BufferId copied = is_steady() ? batch_buffer(TensorId(part), micro_batch) : make(TensorId(part), places_.device, own);
    Range there = out_.whole(copied);
    there.age = age_of(copied);
    copy_own_positions(loaded[part].first, there);
    holder(TensorId(part), micro_batch) = copied;
  }
}

void RankLowering::forward(std::uint32_t stage, std::uint32_t micro_batch) {
  for_each_op(cut_.stages[stage].forward, micro_batch, "forward", [&](const Op& op) { launch(op, micro_batch); });
}

void RankLowering::backward(std::uint32_t stage, std::uint32_t micro_batch) {
  for_each_op(cut_.stages[stage].backward, micro_batch, "backward", [&](const Op& op) { launch(op, micro_batch); });
}

/// What a later instruction reads of bytes that `op` writes now is copied before.
void RankLowering::keep_for_later(const Op& op, std::vector<Deferred>& later, std::uint32_t micro_batch) {
  for (const Operand& operand : op.operands) {
    const Tensor& tensor = graph_.at(operand.tensor);
    const bool fresh = operand.access == Access::kWrite && !tensor.view_of.valid();  // goes to a new place
    if (!writes(operand.access) || is_gradient(tensor.kind) || fresh) continue;
    const BufferId written = holder(operand.tensor, micro_batch);
    BufferId copy;
    for (Deferred& waiting : later) {
      for (auto& [range, access] : waiting.operands) {
        if (access != Access::kRead || !written.valid() || range.buffer != written) continue;
        if (!copy.valid()) {
          const Buffer of = plan_.at(written);
          copy = book_.add({.name = of.name + ", kept", .space = of.space, .bytes = of.bytes, .category = of.category});
          out_.copy(places_.compute, InstructionKind::kCopy, out_.whole(written), out_.whole(copy));
        }
        range.buffer = copy;
      }
    }
  }
}

void RankLowering::input_gradient(std::uint32_t stage, std::uint32_t micro_batch) {
  std::vector<Deferred>& later = deferred_[{stage, micro_batch}];
  for_each_op(cut_.stages[stage].backward, micro_batch, "input gradient", [&](const Op& op) {
    if (is_weight_gradient(op.kind)) {
      const bool sums = op.kind == OpKind::kAccumulate;  // which of them starts the sum is known only later
      later.push_back({&op, sums ? std::vector<std::pair<Range, Access>>() : operands_of(op, micro_batch)});
      return;
    }
    keep_for_later(op, later, micro_batch);
    launch(op, micro_batch);
  });
}

void RankLowering::weight_gradient(std::uint32_t stage, std::uint32_t micro_batch) {
  std::int64_t block = -2;
  for (Deferred& waiting : deferred_.at({stage, micro_batch})) {
    const Op& op = *waiting.op;
    if (op.block != block) enter(op, micro_batch, "weight gradient");
    block = op.block;
    if (op.kind == OpKind::kAccumulate) {
      launch(op, micro_batch);
      continue;
    }
    for (std::size_t i = 0; i < op.operands.size(); ++i) {  // gradients lie where they lie now; one may have arrived
      if (is_gradient(graph_.at(op.operands[i].tensor).kind)) waiting.operands[i].first = range_of(op.operands[i], micro_batch);
    }
    launch(op, waiting.operands);
  }
  deferred_.erase({stage, micro_batch});
}

void RankLowering::write_pass(const PipelineOp& op) {
  const std::uint32_t stage = op.stage.index, micro_batch = op.micro_batch.index;
  if (op.work == PipelineWork::kForward && reads_batch(stage)) load_batch(micro_batch);
  take_in(op);
  switch (op.work) {
    case PipelineWork::kForward: forward(stage, micro_batch); break;
    case PipelineWork::kBackward: backward(stage, micro_batch); break;
    case PipelineWork::kInputGradient: input_gradient(stage, micro_batch); break;
    case PipelineWork::kWeightGradient: weight_gradient(stage, micro_batch); break;
  }
  send_on(op);
}

void RankLowering::write_step() {
  if (is_steady()) return write_steady_step();
  const std::vector<PipelineOp>& order = job_.schedule.orders[place_];
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0) announce(order[0]);
    if (i + 1 < order.size()) announce(order[i + 1]);
    keep_sent(i);
    pass_ = i;
    write_pass(order[i]);
  }
  write_optimizer();
  share_weights();
  report();
}

void RankLowering::write_evaluation() {
  evaluates_ = true;
  if (!job_.flushes()) share_weights();  // a step's come into a version of their own
  for (std::uint32_t stage = 0; stage < cut_.stages.size(); ++stage) {
    if (place_of(stage) != place_) continue;
    const PipelineOp op{.work = PipelineWork::kForward, .stage = StageId(stage), .micro_batch = MicroBatchId(0)};
    announce(op);
    write_pass(op);
    ++pass_;
  }
  report_evaluation();
}

}  // namespace plimsoll
