#pragma once

#include <string>

#include "sim/stack/tape/convolutions.h"

namespace plimsoll {

/// Makes the weights of layers on a tape, in one type.
struct NetMaker {
  Tape& tape;
  DType dtype = DType::kFp32;

  [[nodiscard]] Weights linear(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias = true) const;
  /// Square windows of `width`.
  [[nodiscard]] Weights convolution(const std::string& name, std::int64_t inputs, std::int64_t outputs, std::int64_t width) const;
  /// A weight and a bias a channel.
  [[nodiscard]] Weights norm(const std::string& name, std::int64_t channels) const;
};

/// Of planes [batch, channels, height, width]: in fp32 under autocast; saves x, a mean and a root a batch and group.
Tensor group_norm(Tape& tape, const Tensor& x, const Weights& weights, std::int64_t groups = 32);
/// Each number four times. Saves nothing.
Tensor upsample(Tape& tape, const Tensor& x);
/// A convolution over planes with a stride; `width` as its weights were made.
Tensor plane_convolution(Tape& tape, const Tensor& x, const Weights& weights, std::int64_t outputs, std::int64_t width,
                         std::int64_t stride = 1);

struct NetAttention {
  std::int64_t heads = 1;
  bool flash = true;  ///< else scores, softmax and product one after another
};
/// q [b, s, width], k and v [b, s', width]; a bias [.., heads, s, s'] joins the scores, which then are written out.
Tensor net_attention(Tape& tape, const Tensor& q, const Tensor& k, const Tensor& v, const NetAttention& how,
                     const Tensor& bias = {});

/// Mean of squared differences from a target of the same shape.
Tensor mean_square(Tape& tape, const Tensor& x);

}  // namespace plimsoll
