#include "sim/stack/nets/unet.h"

#include <fmt/format.h>

namespace plimsoll {
namespace {

constexpr std::int64_t kWindow = 3;
constexpr std::int64_t kTimes = 4;  ///< the step's embedding is as many times as wide as the first level

}  // namespace

Unet::Unet(Tape& tape, const UnetShape& shape, std::int64_t batch, bool flash, DType weights)
    : tape_(tape), shape_(shape), make_{tape, weights}, batch_(batch), flash_(flash) {
  const std::int64_t first = shape.channels.front(), last = shape.channels.back();
  in_ = make_.convolution("in", shape.planes, first, kWindow);
  time1_ = make_.linear("time 1", first, kTimes * first);
  time2_ = make_.linear("time 2", kTimes * first, kTimes * first);
  make_down();
  middle1_ = make_residual("middle 1", last, last);
  middle_ = make_transformer("middle", last);
  middle2_ = make_residual("middle 2", last, last);
  make_up();
  norm_ = make_.norm("norm", first);
  out_ = make_.convolution("out", first, shape.planes, kWindow);
}

Unet::Residual Unet::make_residual(const std::string& name, std::int64_t inputs, std::int64_t outputs) const {
  Residual made{.norm1 = make_.norm(name + ".norm1", inputs),
                .conv1 = make_.convolution(name + ".conv1", inputs, outputs, kWindow),
                .time = make_.linear(name + ".time", kTimes * shape_.channels.front(), outputs),
                .norm2 = make_.norm(name + ".norm2", outputs),
                .conv2 = make_.convolution(name + ".conv2", outputs, outputs, kWindow),
                .shortcut = {},
                .outputs = outputs};
  if (inputs != outputs) made.shortcut = make_.convolution(name + ".shortcut", inputs, outputs, 1);
  return made;
}

Unet::Attention Unet::make_attention(const std::string& name, std::int64_t width, std::int64_t context) const {
  return {.q = make_.linear(name + ".q", width, width, false),
          .k = make_.linear(name + ".k", context, width, false),
          .v = make_.linear(name + ".v", context, width, false),
          .out = make_.linear(name + ".out", width, width)};
}

Unet::Transformer Unet::make_transformer(const std::string& name, std::int64_t width) const {
  return {.norm = make_.norm(name + ".norm", width),
          .in = make_.convolution(name + ".in", width, width, 1),
          .norm1 = make_.norm(name + ".norm1", width),
          .norm2 = make_.norm(name + ".norm2", width),
          .norm3 = make_.norm(name + ".norm3", width),
          .feed_in = make_.linear(name + ".feed in", width, 8 * width),
          .feed_out = make_.linear(name + ".feed out", 4 * width, width),
          .out = make_.convolution(name + ".out", width, width, 1),
          .self = make_attention(name + ".self", width, width),
          .cross = make_attention(name + ".cross", width, shape_.context)};
}

void Unet::make_down() {
  std::int64_t inputs = shape_.channels.front();
  for (std::size_t i = 0; i < shape_.channels.size(); ++i) {
    const std::int64_t width = shape_.channels[i];
    const bool last = i + 1 == shape_.channels.size();
    Level level;
    for (std::int64_t b = 0; b < shape_.blocks; ++b) {
      level.residuals.push_back(make_residual(fmt::format("down {} {}", i, b), b == 0 ? inputs : width, width));
      if (!last) level.transformers.push_back(make_transformer(fmt::format("down {} {}", i, b), width));
    }
    if (!last) level.change = make_.convolution(fmt::format("down {}", i), width, width, kWindow);
    down_.push_back(level);
    inputs = width;
  }
}

/// Each block also reads what one block (or a change of size, or the first convolution) left behind on the way down.
void Unet::make_up() {
  std::vector<std::int64_t> left{shape_.channels.front()};
  for (std::size_t i = 0; i < shape_.channels.size(); ++i) {
    for (std::int64_t b = 0; b < shape_.blocks; ++b) left.push_back(shape_.channels[i]);
    if (i + 1 < shape_.channels.size()) left.push_back(shape_.channels[i]);
  }
  std::int64_t inputs = shape_.channels.back();
  for (std::size_t i = shape_.channels.size(); i-- > 0;) {
    const std::int64_t width = shape_.channels[i];
    Level level;
    for (std::int64_t b = 0; b <= shape_.blocks; ++b) {
      level.residuals.push_back(make_residual(fmt::format("up {} {}", i, b), (b == 0 ? inputs : width) + left.back(), width));
      left.pop_back();
      if (i + 1 < shape_.channels.size()) level.transformers.push_back(make_transformer(fmt::format("up {} {}", i, b), width));
    }
    if (i > 0) level.change = make_.convolution(fmt::format("up {}", i), width, width, kWindow);
    up_.push_back(level);
    inputs = width;
  }
}

Tensor Unet::residual(const Residual& block, const Tensor& x) {
  Tensor h = plane_convolution(tape_, from_input(tape_, group_norm(tape_, x, block.norm1)), block.conv1, block.outputs, kWindow);
  h = add(tape_, h, view(tape_, linear(tape_, from_input(tape_, time_), block.time), {batch_, block.outputs, 1, 1}));
  h = plane_convolution(tape_, from_input(tape_, group_norm(tape_, h, block.norm2)), block.conv2, block.outputs, kWindow);
  return add(tape_, block.shortcut.weight != nullptr ? plane_convolution(tape_, x, block.shortcut, block.outputs, 1) : x, h);
}

Tensor Unet::attend(const Attention& weights, const Tensor& x, const Tensor& memory) {
  const Tensor q = linear(tape_, x, weights.q);
  const Tensor k = linear(tape_, memory, weights.k);
  const Tensor v = linear(tape_, memory, weights.v);
  return linear(tape_, net_attention(tape_, q, k, v, {.heads = shape_.heads, .flash = flash_}), weights.out);
}

Tensor Unet::transform(const Transformer& block, const Tensor& x) {
  const std::int64_t width = x.size(1), height = x.size(2), tokens = height * x.size(3);
  Tensor h = plane_convolution(tape_, group_norm(tape_, x, block.norm), block.in, width, 1);
  h = contiguous(tape_, transpose(tape_, view(tape_, h, {batch_, width, tokens}), 1, 2));
  const Tensor normed = layer_norm(tape_, h, block.norm1);
  h = add(tape_, h, attend(block.self, normed, normed));
  h = add(tape_, h, attend(block.cross, layer_norm(tape_, h, block.norm2), text_));
  const Tensors halves = split(tape_, linear(tape_, layer_norm(tape_, h, block.norm3), block.feed_in), {4 * width, 4 * width});
  h = add(tape_, h, linear(tape_, multiply(tape_, halves[0], from_input(tape_, halves[1])), block.feed_out));
  h = view(tape_, contiguous(tape_, transpose(tape_, h, 1, 2)), {batch_, width, height, x.size(3)});
  return add(tape_, plane_convolution(tape_, h, block.out, width, 1), x);
}

Tensor Unet::down(const Tensor& x, Tensors& left_behind) {
  Tensor h = x;
  for (std::size_t i = 0; i < down_.size(); ++i) {
    tape_.at(fmt::format("block {}", i));
    for (std::size_t b = 0; b < down_[i].residuals.size(); ++b) {
      h = residual(down_[i].residuals[b], h);
      if (!down_[i].transformers.empty()) h = transform(down_[i].transformers[b], h);
      left_behind.push_back(h);
    }
    if (i + 1 == down_.size()) break;
    h = plane_convolution(tape_, h, down_[i].change, shape_.channels[i], kWindow, 2);
    left_behind.push_back(h);
  }
  return h;
}

Tensor Unet::up(const Tensor& x, Tensors& left_behind) {
  Tensor h = x;
  for (std::size_t i = 0; i < up_.size(); ++i) {
    tape_.at(fmt::format("block {}", down_.size() + i));
    for (std::size_t b = 0; b < up_[i].residuals.size(); ++b) {
      const Tensor both = concatenate(tape_, {h, left_behind.back()}, 1);
      left_behind.pop_back();
      h = residual(up_[i].residuals[b], both);
      if (!up_[i].transformers.empty()) h = transform(up_[i].transformers[b], h);
    }
    if (i + 1 < up_.size()) h = plane_convolution(tape_, upsample(tape_, h), up_[i].change, h.size(1), kWindow);
  }
  return h;
}

StackModel::Loss Unet::loss(std::optional<DType> autocast) {
  Loss result;
  tape_.phase(Phase::kForward);
  tape_.with_autocast(autocast, [&] {
    const DType type = autocast ? DType::kFp32 : make_.dtype;
    text_ = tape_.empty({batch_, shape_.context_tokens, shape_.context}, type);
    const Tensor step = tape_.empty({batch_, shape_.channels.front()}, type);
    time_ = linear(tape_, from_input(tape_, linear(tape_, step, time1_)), time2_);
    const Tensor latent = tape_.empty({batch_, shape_.planes, shape_.latent, shape_.latent}, type);
    Tensor h = plane_convolution(tape_, latent, in_, shape_.channels.front(), kWindow);
    Tensors left_behind{h};
    h = down(h, left_behind);
    h = residual(middle2_, transform(middle_, residual(middle1_, h)));
    h = up(h, left_behind);
    h = plane_convolution(tape_, from_input(tape_, group_norm(tape_, h, norm_)), out_, shape_.planes, kWindow);
    tape_.at("loss");
    result.loss = mean_square(tape_, h);
    time_ = text_ = {};
  });
  return result;
}

}  // namespace plimsoll
