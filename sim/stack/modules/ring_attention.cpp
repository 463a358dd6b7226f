#include "sim/stack/modules/ring_attention.h"

#include <utility>

namespace plimsoll {
namespace {

/// What all blocks of a rank's attention have in common. The last rank is told, all of whose blocks but the first meet half the keys with
/// all queries; of others some meet all keys with half the queries, and hold a little less.
struct Ring {
  StackKernel kernel;  ///< of a block's forward pass
  Shape sums;          ///< of exponentials, one a row
  std::int64_t ranks = 1;
  bool flash = true;
};

Ring ring_of(const AttentionHeads& heads, const AttentionCall& call, std::int64_t ranks) {
  const std::int64_t batch = heads.q.shape[0];
  const auto tokens = static_cast<double>(call.sequence);
  const double pairs = static_cast<double>(batch * call.heads) * 0.5 * tokens * tokens;
  const std::int64_t rows = call.flash ? call.sequence : (call.sequence + 31) / 32 * 32;
  return {.kernel = {.sort = StackKernelSort::kAttention, .dtype = heads.q.dtype, .causal = true, .batch = batch * call.heads,
                     .m = call.sequence, .n = call.sequence, .k = call.head_dim, .flops = 4 * pairs * static_cast<double>(call.head_dim),
                     .bytes = 2 * traffic(heads.q) + traffic(heads.k) + traffic(heads.v)},
          .sums = {batch, call.heads, rows},
          .ranks = ranks,
          .flash = call.flash};
}

/// The kernel of block `index`: after the first, half of the keys meet all queries (or the other way round), without a mask.
StackKernel block_kernel(const Ring& ring, std::int64_t index, bool backward) {
  StackKernel kernel = ring.kernel;
  if (index > 0) kernel.n /= 2;
  kernel.causal = index == 0;
  kernel.backward = backward;
  if (backward) {
    kernel.flops *= 2.5;
    kernel.bytes *= 2.5;
  }
  return kernel;
}

Tensor like(Tape& tape, const Tensor& x, DType dtype) { return tape.empty(x.shape, dtype); }

/// A new tensor of `dtype` that one kernel makes of `read` bytes.
Tensor computed(Tape& tape, const Tensor& x, DType dtype, double read) {
  Tensor made = like(tape, x, dtype);
  tape.stream(read + traffic(made), dtype);
  return made;
}

void sent(Tape& tape, DType dtype, std::int64_t ranks, double bytes) {
  tape.launch({.sort = StackKernelSort::kCollective, .dtype = dtype, .among = Among::kTensor, .ranks = ranks, .bytes = bytes});
}

/// Keys and values side by side, in a type.
Tensor side_by_side(Tape& tape, const Tensor& k, const Tensor& v, DType dtype) {
  Tensor both = tape.empty({k.elements() + v.elements()}, dtype);
  tape.stream(2 * traffic(both), dtype);
  return both;
}

/// Those of all ranks, of which `own` are sent.
Tensor gathered(Tape& tape, const Tensor& own, std::int64_t ranks) {
  Tensor all = tape.empty({ranks * own.elements()}, own.dtype);
  sent(tape, own.dtype, ranks, traffic(all) * static_cast<double>(ranks - 1) / static_cast<double>(ranks));
  return all;
}

/// What was joined so far less sigmoid(difference of sums) · (that less the block's), in fp32, one kernel after another.
Tensor joined(Tape& tape, const Tensor& block) {
  const Tensor wide = computed(tape, block, DType::kFp32, traffic(block));
  const double all = traffic(wide);
  Tensor difference = computed(tape, wide, DType::kFp32, 2 * all);
  const Tensor product = computed(tape, wide, DType::kFp32, all);
  difference = {};
  return computed(tape, wide, DType::kFp32, 2 * all);
}

/// Keys and values are laid side by side for every block but the last, though all are gathered before the first. The copies in
/// order live until the second block has its own.
Tensors run_forward(Tape& tape, const AttentionHeads& own, const Ring& ring) {
  Tensor k = contiguous(tape, own.k.detached()), v = contiguous(tape, own.v.detached());
  const Tensor sums = tape.empty(ring.sums, DType::kFp32);
  const Tensor random = tape.empty({2}, kIndexType);
  const Tensor all = gathered(tape, side_by_side(tape, own.k, own.v, k.dtype), ring.ranks);
  Tensor total, block;
  for (std::int64_t i = 0; i < ring.ranks; ++i) {
    if (i > 0 && i + 1 < ring.ranks) side_by_side(tape, own.k, own.v, own.k.dtype);
    if (i == 1) k = v = {};
    block = like(tape, own.q, own.q.dtype);
    tape.launch(block_kernel(ring, i, false));
    total = i == 0 ? computed(tape, block, DType::kFp32, traffic(block)) : joined(tape, block);
  }
  Tensor out = computed(tape, own.q, own.q.dtype, traffic(total));
  out.order = own.q.order;  // elementwise kernels keep it
  return {std::move(out), sums, random};
}

/// What arrived in fp32 with a block's gradients added to their half (read and written), in a new tensor as large as `whole`.
Tensor with_half(Tape& tape, const Tensor& whole, const Tensor& block) {
  const double sum = static_cast<double>(whole.elements() * size_of(DType::kFp32));
  tape.stream(sum + traffic(block), DType::kFp32);
  return computed(tape, whole, DType::kFp32, sum);
}

/// Gradients of a block's queries, keys and values, of which all but the first meet half the keys.
struct BlockGradients {
  Tensor q, k, v;
};

BlockGradients block_backward(Tape& tape, const AttentionHeads& own, const Ring& ring, std::int64_t index) {
  const Tensor delta = tape.empty(ring.sums, DType::kFp32);
  Shape rows = own.q.shape;
  rows[2] = (rows[2] + 127) / 128 * 128;
  rows[3] = (rows[3] + 31) / 32 * 32;
  const bool wide_sum = ring.flash && own.q.dtype != DType::kFp32;
  const Tensor sum = wide_sum ? tape.empty(rows, DType::kFp32) : Tensor{};
  Shape keys = own.k.shape;
  if (index > 0) keys[2] /= 2;
  BlockGradients made{.q = like(tape, own.q, own.q.dtype), .k = tape.empty(keys, own.k.dtype), .v = tape.empty(keys, own.v.dtype)};
  tape.launch(block_kernel(ring, index, true));
  return made;
}

/// Of all blocks: those of keys and values go from rank to rank with the keys that they are of, and come home with the last.
class RingBackward {
 public:
  RingBackward(Tape& tape, const AttentionHeads& own, const Ring& ring) : tape_(tape), own_(own), ring_(ring) {
    q_ = computed(tape, own.q, DType::kFp32, 0);
    k_ = computed(tape, own.k, DType::kFp32, 0);
    v_ = computed(tape, own.v, DType::kFp32, 0);
  }

  Tensors run() {
    Tensor k = contiguous(tape_, own_.k), v = contiguous(tape_, own_.v);
    Tensor keys = side_by_side(tape_, own_.k, own_.v, own_.k.dtype);
    const Tensor all = gathered(tape_, keys, ring_.ranks);
    for (std::int64_t i = 0; i < ring_.ranks; ++i) {
      if (i > 0 && i + 1 < ring_.ranks) keys = side_by_side(tape_, own_.k, own_.v, own_.k.dtype);
      if (i == 1) k = v = {};
      last_ = block_backward(tape_, own_, ring_, i);  // the one before lives until then
      if (i == 0) {
        take_first();
      } else {
        take_next();
      }
      tape_.stream(2 * traffic(q_) + traffic(last_.q), DType::kFp32);
    }
    return results();
  }

 private:
  /// A rank's own are added to zeros, which lie as keys and values do and are copied into order to be sent.
  void take_first() {
    tape_.stream(2 * traffic(k_) + 2 * traffic(v_) + traffic(last_.k) + traffic(last_.v), DType::kFp32);
    const bool in_order = own_.k.contiguous();
    Tensor k = in_order ? k_ : computed(tape_, own_.k, DType::kFp32, traffic(k_));
    Tensor v = in_order ? v_ : computed(tape_, own_.v, DType::kFp32, traffic(v_));
    leaving_ = side_by_side(tape_, own_.k, own_.v, DType::kFp32);
    k = v = {};
    pass_on();
  }

  /// What arrived has the place of what was sent.
  void take_next() {
    leaving_ = k_ = v_ = {};
    k_ = with_half(tape_, own_.k, last_.k);
    v_ = with_half(tape_, own_.v, last_.v);
    leaving_ = side_by_side(tape_, own_.k, own_.v, DType::kFp32);
    pass_on();
  }

  void pass_on() {
    arrived_ = tape_.empty(leaving_.shape, DType::kFp32);
    sent(tape_, DType::kFp32, ring_.ranks, traffic(leaving_));
  }

  /// Keys' and values' are one tensor.
  Tensors results() {
    Tensor q = computed(tape_, own_.q, own_.q.dtype, traffic(q_));
    q.order = own_.q.order;
    q_ = {};
    const Tensor both = computed(tape_, arrived_, own_.k.dtype, traffic(arrived_));
    Tensor k = both, v = both;
    k.shape = own_.k.shape;
    v.shape = own_.v.shape;
    k.is_view = v.is_view = true;
    return {std::move(q), std::move(k), std::move(v)};
  }

  Tape& tape_;
  const AttentionHeads& own_;
  const Ring& ring_;
  Tensor q_, k_, v_, leaving_, arrived_;
  BlockGradients last_;
};

}  // namespace

Tensor ring_attention(Tape& tape, const AttentionHeads& heads, const AttentionCall& call, std::int64_t ranks) {
  const AttentionHeads used{.q = tape.as_autocast(heads.q), .k = tape.as_autocast(heads.k), .v = tape.as_autocast(heads.v)};
  const Ring ring = ring_of(used, call, ranks);
  const Tensors made = tape.results_of(StackKernelSort::kAttention, [&] { return run_forward(tape, used, ring); });
  const AttentionHeads saved{.q = used.q.detached(), .k = used.k.detached(), .v = used.v.detached()};
  Tensor out = made[0];
  return tape.record(std::move(out), {&used.q, &used.k, &used.v},
                     [saved, ring, kept = Tensors{made[0].detached(), made[1], made[2]}](Tape& t, Tensors) { return RingBackward(t, saved, ring).run(); });
}

}  // namespace plimsoll
