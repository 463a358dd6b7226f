#include "sim/planner/step_lowering.h"

#include <fmt/format.h>

#include "core/graph/batch_parts.h"

namespace plimsoll {
namespace {

bool is_gradient(TensorKind kind) { return kind == TensorKind::kGradient || kind == TensorKind::kAccumulator; }

/// Nothing else is to be known of its launch.
bool uses_operands_alone(OpKind kind) {
  return kind != OpKind::kCrossEntropy && kind != OpKind::kLoss && kind != OpKind::kClipFactor && kind != OpKind::kExpertBalance;
}

/// All micro-batches use one and the same.
bool is_shared(TensorKind kind) {
  return kind == TensorKind::kParameter || kind == TensorKind::kAccumulator || kind == TensorKind::kMaster ||
         kind == TensorKind::kFirstMoment || kind == TensorKind::kSecondMoment;
}

}  // namespace

StepLowering::StepLowering(Plan& plan, BufferBook& book, const Places& places, const Graph& graph, const StepOutline& outline,
                           const std::vector<GroupState>& state, BodyDetail detail)
    : plan_(plan),
      book_(book),
      places_(places),
      graph_(graph),
      outline_(outline),
      state_(state),
      out_(plan, book, detail) {
  // Some kernels run again, some tensors come and go: about what is written, so that little of it has to move.
  const std::size_t times = micro_batches() + micro_batches() / 4 + 1;
  out_.reserve(graph.ops.size() * times);
  book.reserve(graph.tensors.size() * times);
  shared_.resize(graph.tensors.size());
  own_.assign(micro_batches(), shared_);
  kernels_.resize(graph.ops.size());
  for (const auto& [tensor, group] : outline.parameters) {
    if (!is_streamed(group)) shared_[tensor.index] = state[group.index].parameters;
  }
  find_loss_scale();
  find_kept();
  find_leaving();
  find_waiting();
}

BufferId& StepLowering::holder(TensorId tensor, std::uint32_t micro_batch) {
  const TensorId whole = whole_of(tensor);
  return is_shared(graph_.at(tensor).kind) ? shared_[whole.index] : own_[micro_batch][whole.index];
}

BufferId StepLowering::make_buffer(const Tensor& tensor, SpaceId space) {
  if (!waiting_.empty()) {
    const auto waiting = waiting_.find(TensorId(static_cast<std::size_t>(&tensor - graph_.tensors.data())));
    if (waiting != waiting_.end() && plan_.at(waiting->second).space == space) return waiting->second;
  }
  return book_.add({.name = tensor.block < 0 ? book_.name("{}", tensor.name)
                                             : book_.name("{} of block {}", tensor.name, tensor.block),
                    .space = space,
                    .bytes = tensor.bytes(),
                    .category = tensor.kind});
}

BufferId StepLowering::buffer_of(const Operand& operand, std::uint32_t micro_batch, SpaceId space) {
  const Tensor& tensor = graph_.at(operand.tensor);
  const bool is_view = tensor.view_of.valid();
  BufferId& buffer = holder(operand.tensor, micro_batch);
  const bool fresh = !is_view && operand.access == Access::kWrite && !is_gradient(tensor.kind) &&
                     tensor.kind != TensorKind::kParameter;
  if (fresh || !buffer.valid()) buffer = make_buffer(is_view ? graph_.at(tensor.view_of) : tensor, space);
  return buffer;
}

/// Part by part into its place: a range that is put together first is copied from what was hardly written.
void StepLowering::find_range(const Operand& operand, std::uint32_t micro_batch, SpaceId space, Range& range) {
  range.buffer = buffer_of(operand, micro_batch, space);
  if (out_.detail() == BodyDetail::kLives) return;
  const Tensor& tensor = graph_.at(operand.tensor);
  const bool waits = !waiting_.empty() && waiting_.count(whole_of(operand.tensor)) > 0;
  range.offset = Bytes(tensor.view_offset * size_of(tensor.dtype));
  range.bytes = tensor.bytes();
  range.age = waits ? 0 : out_.age_before(range.buffer);
}

Range StepLowering::range_of(const Operand& operand, std::uint32_t micro_batch, SpaceId space) {
  Range range;
  find_range(operand, micro_batch, space, range);
  return range;
}

KernelId StepLowering::kernel_of(const Op& op) {
  KernelId& kernel = kernels_[static_cast<std::size_t>(&op - graph_.ops.data())];
  if (!kernel.valid() && out_.detail() != BodyDetail::kLives) kernel = out_.kernel_id({op.kind, op.dtype, op.shape});
  return kernel;
}

void StepLowering::note_loss(const Op& op, const std::vector<std::pair<Range, Access>>& operands) {
  if (op.kind != OpKind::kCrossEntropy && op.kind != OpKind::kLoss) return;
  const auto& [loss, access] = op.kind == OpKind::kLoss ? operands[2] : operands.back();
  if (access == Access::kWrite) losses_.push_back(loss.buffer);  // further parts of the micro-batch add to it
}

void StepLowering::launch(const Op& op, std::uint32_t micro_batch, SpaceId where) {
  if (op.kind == OpKind::kSquaredNorm && where == places_.device && optimizer_on_host()) return norm_from_device(op);
  const bool starts_sum = op.kind == OpKind::kAccumulate && op.phase == Phase::kBackward && micro_batch == 0;
  place_loss_scale(op, micro_batch);
  if (out_.detail() == BodyDetail::kLives && uses_operands_alone(op.kind)) {
    for (const Operand& operand : op.operands) out_.will_use(buffer_of(operand, micro_batch, where));
    out_.pass();
    return;
  }
  std::vector<std::pair<Range, Access>>& operands = operands_;
  operands.resize(op.operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Access access = op.operands[i].access;
    find_range(op.operands[i], micro_batch, where, operands[i].first);
    operands[i].second = starts_sum && writes(access) ? Access::kWrite : access;
  }
  KernelId& kernel = kernels_[static_cast<std::size_t>(&op - graph_.ops.data())];
  const bool updates_are_guarded = plan_.strategy.update_in_backward || loss_scale_.valid();
  const bool guards = op.kind == OpKind::kClipFactor && updates_are_guarded;
  if (!kernel.valid() && out_.detail() != BodyDetail::kLives) {
    Kernel of{op.kind, op.dtype, op.shape};
    if (guards && !plan_.strategy.update_in_backward) of.shape.variant = static_cast<std::uint8_t>(ClipFlag::kUpdate);
    kernel = out_.kernel_id(of);
  }
  if (guards) {
    if (!flag_.valid()) flag_ = make_flag(plan_.strategy.update_in_backward ? "clipped" : "finite", where);
    operands.emplace_back(out_.whole(flag_), Access::kWrite);
  }
  out_.launch(where == places_.host ? places_.cpu : places_.compute, kernel, operands);
  note_loss(op, operands);
  if (op.kind == OpKind::kExpertBalance) expert_losses_.push_back(operands.back().first.buffer);
  if (op.kind == OpKind::kLoss && operands.size() > 3) right_answers_ = operands[3].first.buffer;
  if (op.kind != OpKind::kClipFactor) return;
  clip_factor_ = operands[1].first.buffer;
  share_clip_factor();
}

void StepLowering::write_op(const Op& op, std::uint32_t micro_batch) {
  if (op.kind == OpKind::kAccumulate) return add_to_sum(op, micro_batch);
  const bool of_device = op.kind == OpKind::kSquaredNorm && !updated_on_host(graph_.at(op.operands[0].tensor).group);
  const bool on_host = op.phase == Phase::kOptimizer && optimizer_on_host() && !of_device;
  launch(op, micro_batch, on_host ? places_.host : places_.device);
}

void StepLowering::load_batch(std::uint32_t micro_batch) {
  out_.begin_segment("load", micro_batch, -1);
  out_.set_phase(Phase::kLoad);
  const auto make = [&](TensorId part, SpaceId space) {
    return book_.add({.name = book_.name("{} of micro-batch {}", graph_.at(part).name, micro_batch),
                      .space = space,
                      .bytes = graph_.at(part).bytes(),
                      .category = TensorKind::kTokens,
                      .slots = 2});
  };
  const auto parts = static_cast<std::uint32_t>(batch_parts(graph_.spec, graph_.recipe).size());
  std::vector<BufferId> loaded, copied;
  for (std::uint32_t part = 0; part < parts; ++part) {  // the graph's first tensors
    loaded.push_back(make(TensorId(part), places_.host));
    copied.push_back(make(TensorId(part), places_.device));
  }
  std::vector<std::pair<Range, Access>> writes;
  for (const BufferId part : loaded) writes.emplace_back(out_.whole(part), Access::kWrite);
  out_.host_work(places_.data, HostTask::kLoadTokens, writes);
  for (std::uint32_t part = 0; part < parts; ++part) {
    out_.copy(places_.h2d, InstructionKind::kCopy, out_.whole(loaded[part]), out_.whole(copied[part]));
    holder(TensorId(part), micro_batch) = copied[part];
  }
}

void StepLowering::rotate(std::deque<BufferId>& recent, BufferId newest) {
  recent.push_back(newest);
  if (recent.size() > static_cast<std::size_t>(plan_.strategy.staging_slots)) recent.pop_front();
  for (const BufferId buffer : recent) book_.touch(buffer, out_.next_id() - 1);
}

BufferId StepLowering::fetch_to_host(BufferId device_buffer) {
  const Buffer from = plan_.at(device_buffer);
  const BufferId host = book_.add({.name = from.name, .space = places_.host, .bytes = from.bytes, .category = from.category});
  out_.copy(places_.d2h, InstructionKind::kCopy, out_.whole(device_buffer), out_.whole(host));
  return host;
}

void StepLowering::report() {
  out_.begin_segment("report", 0, -1);
  out_.set_phase(Phase::kOptimizer);
  std::vector<std::pair<Range, Access>> operands;
  for (const BufferId loss : losses_) operands.emplace_back(out_.whole(fetch_to_host(loss)), Access::kRead);
  if (right_answers_.valid()) operands.emplace_back(out_.whole(fetch_to_host(right_answers_)), Access::kRead);
  if (clip_factor_.valid()) {
    const bool on_device = plan_.at(clip_factor_).space == places_.device;
    operands.emplace_back(out_.whole(on_device ? fetch_to_host(clip_factor_) : clip_factor_), Access::kRead);
  }
  for (const BufferId loss : expert_losses_) operands.emplace_back(out_.whole(fetch_to_host(loss)), Access::kRead);
  out_.host_work(places_.report, HostTask::kReportLoss, operands);
}

void StepLowering::write_step() {
  const std::uint32_t together = plan_.strategy.loop_order == LoopOrder::kBreadthFirst ? micro_batches() : 1;
  update_ahead();
  for (std::uint32_t m = 0; m < micro_batches(); m += together) write_passes({m, m + together});
  write_optimizer();
  publish_ahead();
  report();
}

void StepLowering::write_evaluation() {
  load_batch(0);
  for (const Run& run : outline_.runs) write_run(run, 0);
  report();
}

}  // namespace plimsoll
