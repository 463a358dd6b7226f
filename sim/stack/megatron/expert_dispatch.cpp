#include "sim/stack/megatron/expert_dispatch.h"

#include <utility>

namespace plimsoll {
namespace {

/// All ranks' rows together, or sums of them apart again: a share (ranks − 1) ÷ ranks of the whole travels.
void gather_among(Tape& tape, double whole, std::int64_t ranks, DType dtype) {
  if (ranks < 2) return;
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = dtype, .blocking = true, .among = Among::kExperts, .ranks = ranks,
               .bytes = whole * static_cast<double>(ranks - 1) / static_cast<double>(ranks)});
}

/// Each rank sends every other its part (all-to-all); nothing where experts are not shared.
void exchange_among(Tape& tape, const Tensor& sent, const ExpertCut& cut) {
  if (cut.ranks < 2) return;
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = sent.dtype, .blocking = true, .among = Among::kExperts, .pairs = true,
               .ranks = cut.ranks, .bytes = traffic(sent) * static_cast<double>(cut.ranks - 1) / static_cast<double>(cut.ranks)});
}

/// A copy of rows in another order, or as many as their places say.
Tensor copied(Tape& tape, std::int64_t rows, std::int64_t width, DType dtype) {
  Tensor out = tape.empty({rows, width}, dtype);
  tape.stream(2 * traffic(out), dtype);
  return out;
}

/// Zeros to which rows are added by their places.
Tensor added(Tape& tape, std::int64_t rows, std::int64_t from, std::int64_t width, DType dtype) {
  Tensor out = tape.empty({rows, width}, dtype);
  tape.stream(traffic(out) * (1 + 3 * static_cast<double>(from) / static_cast<double>(rows)), dtype);
  return out;
}

/// Rows in the order of ranks, as they are sent, to the rank of their experts and into the experts' order.
Tensor sent_to_experts(Tape& tape, Tensor sent, const ExpertRows& rows, const ExpertCut& cut) {
  const std::int64_t width = sent.shape[1];
  Tensor here = std::move(sent);
  if (cut.ranks > 1) {
    exchange_among(tape, here, cut);
    here = tape.empty({rows.chosen, width}, here.dtype);
  }
  if (cut.tensor_ranks > 1) {
    here = tape.empty({rows.arriving, width}, here.dtype);
    gather_among(tape, traffic(here), cut.tensor_ranks, here.dtype);
  }
  return rows.held > 1 ? copied(tape, rows.arriving, width, here.dtype) : here;
}

/// And the way back: [chosen, width]. Sums over tensor ranks are in the gates' type.
Tensor sent_back(Tape& tape, const Tensor& made, const ExpertRows& rows, const ExpertCut& cut) {
  const std::int64_t width = made.shape[1];
  Tensor here = rows.held > 1 ? copied(tape, rows.arriving, width, made.dtype) : made.detached();
  if (cut.tensor_ranks > 1) {
    if (cut.gates != here.dtype) here = copied(tape, rows.arriving, width, cut.gates);
    gather_among(tape, traffic(here), cut.tensor_ranks, cut.gates);
    here = tape.empty({rows.chosen, width}, cut.gates);
    if (cut.gates != made.dtype) here = copied(tape, rows.chosen, width, made.dtype);
  }
  if (cut.ranks < 2) return here;
  exchange_among(tape, here, cut);
  return tape.empty({rows.chosen, width}, made.dtype);
}

Tensor gather_to_experts(Tape& tape, const Tensor& x, const ExpertRows& rows, const ExpertCut& cut) {
  const std::int64_t width = x.shape[1];
  const DType type = x.dtype;
  gather_among(tape, traffic(x) * static_cast<double>(cut.group()), cut.group(), type);  // into the buffer that stays
  const Tensor places = tape.empty({rows.arriving}, kIndexType);
  return tape.record(copied(tape, rows.arriving, width, type), {&x}, [=](Tape& t, Tensors) {
    Tensor whole = added(t, rows.all, rows.arriving, width, type);
    if (cut.group() < 2) return only(std::move(whole));
    gather_among(t, traffic(whole), cut.group(), type);
    return only(t.empty({rows.own, width}, type));
  });
}

Tensor scatter_from_experts(Tape& tape, const Tensor& made, const ExpertRows& rows, const ExpertCut& cut) {
  const std::int64_t width = made.shape[1];
  const DType type = made.dtype;
  Tensor out = added(tape, rows.all, rows.arriving, width, type);
  if (cut.group() > 1) {
    if (cut.gates != type) out = copied(tape, rows.all, width, cut.gates);
    gather_among(tape, traffic(out), cut.group(), cut.gates);
    out = tape.empty({rows.own, width}, cut.gates);
    if (cut.gates != type) out = copied(tape, rows.own, width, type);
  }
  return tape.record(std::move(out), {&made}, [=, kept = cut.adds_in_order ? made.detached() : Tensor{}](Tape& t, Tensors gradients) {
    Tensor whole = std::move(gradients[0]);
    if (cut.group() > 1) {
      whole = t.empty({rows.all, width}, cut.gates);
      gather_among(t, traffic(whole), cut.group(), cut.gates);
      if (cut.gates != type) whole = copied(t, rows.all, width, type);
    }
    return only(copied(t, rows.arriving, width, type));
  });
}

}  // namespace

ExpertRows expert_rows(const ModelSpec& spec, const MegatronCut& cut, const ExpertCut& experts) {
  const std::int64_t own = cut.stream_rows();
  return {.own = own, .all = own * experts.group(), .chosen = own * spec.experts.per_token, .arriving = arriving_rows(spec, cut, experts),
          .held = spec.experts.count / experts.ranks};
}

Tensor dispatch_tokens(Tape& tape, const Tensor& x, const ExpertRows& rows, const ExpertCut& cut) {
  if (cut.gathers) return gather_to_experts(tape, x, rows, cut);
  const std::int64_t width = x.shape[1];
  const DType type = x.dtype;
  const Tensor places = tape.empty({rows.chosen}, kIndexType);
  Tensor out = sent_to_experts(tape, copied(tape, rows.chosen, width, type), rows, cut);
  return tape.record(std::move(out), {&x}, [=](Tape& t, Tensors gradients) {
    const Tensor back = sent_back(t, gradients[0], rows, {.ranks = cut.ranks, .tensor_ranks = cut.tensor_ranks, .gates = type});
    return only(added(t, rows.own, rows.chosen, width, type));
  });
}

Tensor dispatch_shares(Tape& tape, const Tensor& scores, const ExpertRows& rows, const ExpertCut& cut) {
  // Those of the experts in question, by expert, and which of them are meant: masked_select keeps both.
  const std::int64_t tokens = cut.gathers ? rows.all : rows.own, count = scores.shape[1];
  const std::int64_t width = cut.gathers ? rows.held : count;
  if (cut.gathers) gather_among(tape, traffic(scores) * static_cast<double>(cut.group()), cut.group(), scores.dtype);
  const Tensor kept = copied(tape, width, tokens, scores.dtype);
  const Tensor mask = tape.empty({width, tokens}, kMaskType), map = tape.empty({tokens, width}, kMaskType);
  return tape.record(tape.empty({rows.arriving}, scores.dtype), {&scores}, [=, shape = scores.shape, type = scores.dtype, held = Tensors{kept, mask, map}](Tape& t, Tensors) {
    const Tensor whole = t.empty({tokens, count}, type);
    t.stream(3 * traffic(whole), type);
    if (cut.gathers) gather_among(t, traffic(whole), cut.group(), type);
    return only(t.empty(shape, type));
  });
}

Tensor combine_tokens(Tape& tape, const Tensor& made, const ExpertRows& rows, const ExpertCut& cut) {
  if (cut.gathers) return scatter_from_experts(tape, made, rows, cut);
  const std::int64_t width = made.shape[1];
  const DType type = made.dtype;
  const Tensor back = sent_back(tape, made, rows, cut), kept = cut.adds_in_order ? back : Tensor{};
  return tape.record(added(tape, rows.own, rows.chosen, width, type), {&made}, [=, own = kept.detached()](Tape& t, Tensors gradients) {
    Tensor spread = copied(t, rows.chosen, width, type);
    gradients.clear();
    return only(sent_to_experts(t, std::move(spread), rows, cut));
  });
}

}  // namespace plimsoll
