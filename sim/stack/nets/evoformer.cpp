#include "sim/stack/nets/evoformer.h"

#include <fmt/format.h>

#include "sim/stack/nets/axial_exchange.h"
#include "sim/stack/tape/checkpoint_all.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kWider = 4;  ///< a transition than its stream

/// x · sigmoid(of a gate).
Tensor gated(Tape& tape, const Tensor& x, const Tensor& gate) { return multiply(tape, x, from_result(tape, gate)); }

}  // namespace

Evoformer::Evoformer(Tape& tape, const EvoformerShape& shape, bool recompute, DType weights)
    : tape_(tape), shape_(shape), make_{tape, weights}, recompute_(recompute) {
  for (std::int64_t i = 0; i < shape.blocks; ++i) blocks_.push_back(make_block(fmt::format("block {}", i)));
}

Evoformer::Attention Evoformer::make_attention(const std::string& name, std::int64_t width, std::int64_t heads) const {
  return {.norm = make_.norm(name + ".norm", width),
          .q = make_.linear(name + ".q", width, width, false),
          .k = make_.linear(name + ".k", width, width, false),
          .v = make_.linear(name + ".v", width, width, false),
          .gate = make_.linear(name + ".gate", width, width),
          .out = make_.linear(name + ".out", width, width),
          .heads = heads};
}

Evoformer::Product Evoformer::make_product(const std::string& name) const {
  const std::int64_t c = shape_.c_z;
  return {.norm = make_.norm(name + ".norm", c),
          .left = make_.linear(name + ".left", c, c),
          .left_gate = make_.linear(name + ".left gate", c, c),
          .right = make_.linear(name + ".right", c, c),
          .right_gate = make_.linear(name + ".right gate", c, c),
          .norm_out = make_.norm(name + ".norm out", c),
          .out = make_.linear(name + ".out", c, c),
          .gate = make_.linear(name + ".gate", c, c)};
}

Evoformer::Transition Evoformer::make_transition(const std::string& name, std::int64_t width) const {
  return {.norm = make_.norm(name + ".norm", width),
          .in = make_.linear(name + ".in", width, kWider * width),
          .out = make_.linear(name + ".out", kWider * width, width)};
}

Evoformer::Block Evoformer::make_block(const std::string& name) const {
  const std::int64_t m = shape_.c_m, z = shape_.c_z, outer = shape_.outer;
  Block made;
  made.row = make_attention(name + ".row", m, shape_.msa_heads);
  made.column = make_attention(name + ".column", m, shape_.msa_heads);
  made.starting = make_attention(name + ".starting", z, shape_.pair_heads);
  made.ending = make_attention(name + ".ending", z, shape_.pair_heads);
  made.row_bias_norm = make_.norm(name + ".row bias norm", z);
  made.row_bias = make_.linear(name + ".row bias", z, shape_.msa_heads, false);
  made.starting_bias = make_.linear(name + ".starting bias", z, shape_.pair_heads, false);
  made.ending_bias = make_.linear(name + ".ending bias", z, shape_.pair_heads, false);
  made.msa = make_transition(name + ".msa", m);
  made.pair = make_transition(name + ".pair", z);
  made.outer_norm = make_.norm(name + ".outer norm", m);
  made.outer_left = make_.linear(name + ".outer left", m, outer);
  made.outer_right = make_.linear(name + ".outer right", m, outer);
  made.outer_out = make_.linear(name + ".outer out", outer * outer, z);
  made.outgoing = make_product(name + ".outgoing");
  made.incoming = make_product(name + ".incoming");
  return made;
}

Tensor Evoformer::attend(const Attention& weights, const Tensor& x, const Tensor& bias) {
  const auto some = [&](const Tensor& rows) {
    const Tensor q = linear(tape_, rows, weights.q);
    const Tensor k = linear(tape_, rows, weights.k);
    const Tensor v = linear(tape_, rows, weights.v);
    return net_attention(tape_, q, k, v, {.heads = weights.heads, .flash = false}, bias);
  };
  Tensor attended;
  if (shape_.chunk > 0 && shape_.chunk < x.size(0)) {
    Tensors parts;
    for (const Tensor& rows : split_rows(tape_, x, (x.size(0) + shape_.chunk - 1) / shape_.chunk)) parts.push_back(some(rows));
    attended = concatenate(tape_, parts, 0);
  } else {
    attended = some(x);
  }
  return linear(tape_, gated(tape_, attended, linear(tape_, x, weights.gate)), weights.out);
}

Tensor Evoformer::turned(const Tensor& x) {
  return contiguous(tape_, transpose(tape_, exchange_ranks(tape_, x, 0, 1, shape_.ranks), 0, 1));
}

Tensor Evoformer::pair_bias(const Tensor& pairs, const Weights& weights, std::int64_t heads) {
  const std::int64_t r = shape_.residues;
  const std::int64_t rows = pairs.size(0);
  const Tensor flat = view(tape_, linear(tape_, pairs, weights), {1, rows * r, heads});
  const Tensor own = view(tape_, contiguous(tape_, transpose(tape_, flat, 1, 2)), {1, heads, rows, r});
  return gather_ranks(tape_, own, 2, shape_.ranks);
}

Tensor Evoformer::triangle_product(const Product& weights, const Tensor& pairs) {
  const std::int64_t r = shape_.residues, c = shape_.c_z, rows = pairs.size(0);
  const Tensor z = layer_norm(tape_, pairs, weights.norm);
  const auto side = [&](const Weights& value, const Weights& gate) {
    const Tensor one = gated(tape_, linear(tape_, z, value), linear(tape_, z, gate));
    return view(tape_, contiguous(tape_, transpose(tape_, view(tape_, one, {1, rows * r, c}), 1, 2)), {c, rows, r});
  };
  const Tensor left = side(weights.left, weights.left_gate);
  const Tensor right = gather_ranks(tape_, side(weights.right, weights.right_gate), 1, shape_.ranks);
  Tensor product = view(tape_, matmul(tape_, left, right), {1, c, rows * r});
  product = view(tape_, contiguous(tape_, transpose(tape_, product, 1, 2)), {rows, r, c});
  const Tensor out = linear(tape_, layer_norm(tape_, product, weights.norm_out), weights.out);
  return gated(tape_, out, linear(tape_, z, weights.gate));
}

Tensor Evoformer::triangle_attention(const Attention& weights, const Weights& bias, const Tensor& pairs) {
  const Tensor z = layer_norm(tape_, pairs, weights.norm);
  return attend(weights, z, pair_bias(z, bias, weights.heads));
}

/// The mean over sequences of every residue's outer product with every other's.
Tensor Evoformer::outer_product(const Block& weights, const Tensor& msa) {
  const std::int64_t s = shape_.sequences, r = shape_.residues, c = shape_.outer, own = msa.size(1);
  const Tensor m = layer_norm(tape_, msa, weights.outer_norm);
  const Tensor left = view(tape_, linear(tape_, m, weights.outer_left), {1, s, own * c});
  const Tensor others = gather_ranks(tape_, linear(tape_, m, weights.outer_right), 1, shape_.ranks);
  const Tensor right = view(tape_, others, {1, s, r * c});
  const Tensor all = matmul(tape_, transpose(tape_, left, 1, 2), right);  // [1, own·c, r·c]
  const Tensor pairs = contiguous(tape_, transpose(tape_, view(tape_, all, {own, c, r, c}), 1, 2));
  return linear(tape_, view(tape_, pairs, {own, r, c * c}), weights.outer_out);
}

Tensor Evoformer::transition(const Transition& weights, const Tensor& x) {
  return linear(tape_, from_result(tape_, linear(tape_, layer_norm(tape_, x, weights.norm), weights.in)), weights.out);
}

Tensors Evoformer::block(const Block& w, const Tensors& streams) {
  Tensor m = streams[0], z = streams[1];
  const Tensor row_bias = pair_bias(layer_norm(tape_, z, w.row_bias_norm), w.row_bias, shape_.msa_heads);
  m = add(tape_, m, attend(w.row, layer_norm(tape_, m, w.row.norm), row_bias));
  m = exchange_ranks(tape_, m, 0, 1, shape_.ranks);  // from here on cut by residues
  const auto swapped = [this](const Tensor& x) { return contiguous(tape_, transpose(tape_, x, 0, 1)); };
  const Tensor columns = layer_norm(tape_, swapped(m), w.column.norm);
  m = add(tape_, m, swapped(attend(w.column, columns, {})));
  m = add(tape_, m, transition(w.msa, m));
  z = add(tape_, z, outer_product(w, m));
  m = exchange_ranks(tape_, m, 1, 0, shape_.ranks);
  z = add(tape_, z, triangle_product(w.outgoing, z));
  z = add(tape_, z, triangle_product(w.incoming, turned(z)));
  z = add(tape_, z, triangle_attention(w.starting, w.starting_bias, z));
  z = add(tape_, z, turned(triangle_attention(w.ending, w.ending_bias, turned(z))));
  z = add(tape_, z, transition(w.pair, z));
  return {m, z};
}

StackModel::Loss Evoformer::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.with_autocast(autocast, [&] {
    const DType type = autocast ? DType::kFp32 : make_.dtype;
    Tensors streams{tape_.empty({shape_.sequences / shape_.ranks, shape_.residues, shape_.c_m}, type),
                    tape_.empty({shape_.residues / shape_.ranks, shape_.residues, shape_.c_z}, type)};
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      tape_.at(fmt::format("block {}", i));
      const auto run = [this, i](const Tensors& in) { return block(blocks_[i], in); };
      streams = recompute_ ? checkpoint_all(tape_, streams, run) : run(streams);
    }
    tape_.at("loss");
    result.loss = add(tape_, mean_square(tape_, streams[0]), mean_square(tape_, streams[1]));
  });
  return result;
}

}  // namespace plimsoll
