#include "sim/stack/nets/dit.h"

#include <fmt/format.h>

#include "sim/stack/tape/checkpoint_all.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kFrequencies = 256;  ///< of the step's embedding
constexpr std::int64_t kWider = 4;          ///< the feed-forward layer than the stream

}  // namespace

Dit::Dit(Tape& tape, const DitShape& shape, std::int64_t batch, bool flash, bool recompute, DType weights)
    : tape_(tape), shape_(shape), make_{tape, weights}, batch_(batch), flash_(flash), recompute_(recompute) {
  const std::int64_t h = shape.hidden;
  patches_ = make_.convolution("patches", shape.planes, h, shape.patch);
  time1_ = make_.linear("time 1", kFrequencies, h);
  time2_ = make_.linear("time 2", h, h);
  labels_ = &tape.parameter("labels", {shape.classes + 1, h}, weights);
  positions_ = &tape.parameter("positions", {shape.tokens(), h}, weights, false);
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const std::string name = fmt::format("block {}", i);
    blocks_.push_back({.modulation = make_.linear(name + ".modulation", h, 6 * h),
                       .qkv = make_.linear(name + ".qkv", h, 3 * h),
                       .out = make_.linear(name + ".out", h, h),
                       .feed_in = make_.linear(name + ".feed in", h, kWider * h),
                       .feed_out = make_.linear(name + ".feed out", kWider * h, h)});
  }
  last_modulation_ = make_.linear("last.modulation", h, 2 * h);
  last_ = make_.linear("last", h, shape.patch * shape.patch * 2 * shape.planes);  // noise and its variance
}

Tensor Dit::condition() {
  const Tensor step = tape_.empty({batch_, kFrequencies}, tape_.autocast() ? DType::kFp32 : make_.dtype);
  const Tensor time = linear(tape_, from_input(tape_, linear(tape_, step, time1_)), time2_);
  return add(tape_, time, embedding(tape_, tape_.empty({batch_}, kIndexType), *labels_));
}

Tensor Dit::modulated(const Tensor& x, const Tensor& shift_by, const Tensor& stretch) const {
  return add(tape_, multiply(tape_, layer_norm(tape_, x, {}), shift(tape_, stretch)), shift_by);
}

Tensor Dit::block(const Block& weights, const Tensor& x, const Tensor& condition) {
  const std::int64_t h = shape_.hidden;
  const Tensors parts = split(tape_, linear(tape_, from_input(tape_, condition), weights.modulation), {h, h, h, h, h, h});
  const Tensors qkv = split(tape_, linear(tape_, modulated(x, parts[0], parts[1]), weights.qkv), {h, h, h});
  const Tensor attended =
      linear(tape_, net_attention(tape_, qkv[0], qkv[1], qkv[2], {.heads = shape_.heads, .flash = flash_}), weights.out);
  const Tensor middle = add(tape_, x, multiply(tape_, attended, parts[2]));
  const Tensor fed =
      linear(tape_, from_input(tape_, linear(tape_, modulated(middle, parts[3], parts[4]), weights.feed_in)), weights.feed_out);
  return add(tape_, middle, multiply(tape_, fed, parts[5]));
}

StackModel::Loss Dit::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.with_autocast(autocast, [&] {
    const DType type = autocast ? DType::kFp32 : make_.dtype;
    const std::int64_t side = shape_.latent / shape_.patch;
    const Tensor latent = tape_.empty({batch_, shape_.planes, shape_.latent, shape_.latent}, type);
    const Tensor planes = convolution(
        tape_, latent, patches_,
        {.inputs_per_output = shape_.planes * shape_.patch * shape_.patch, .made = {batch_, shape_.hidden, side, side}});
    Tensor x = contiguous(tape_, transpose(tape_, view(tape_, planes, {batch_, shape_.hidden, side * side}), 1, 2));
    x = add(tape_, x, positions_->use());
    const Tensor c = condition();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      tape_.at(fmt::format("block {}", i));
      const auto run = [this, i](const Tensors& in) { return Tensors{block(blocks_[i], in[0], in[1])}; };
      x = recompute_ ? checkpoint_all(tape_, {x, c}, run).front() : run({x, c}).front();
    }
    tape_.at("loss");
    const Tensors parts = split(tape_, linear(tape_, from_input(tape_, c), last_modulation_), {shape_.hidden, shape_.hidden});
    result.loss = mean_square(tape_, linear(tape_, modulated(x, parts[0], parts[1]), last_));
  });
  return result;
}

}  // namespace plimsoll
