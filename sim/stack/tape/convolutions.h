#pragma once

#include <cstdint>

#include "sim/stack/tape/operations.h"

namespace plimsoll {

// Operations on planes: tensors [batch, channels, height, width].

struct ConvolutionCall {
  std::int64_t inputs_per_output = 1;  ///< numbers of x that one number of y is made of
  Shape made;                          ///< of y
};
/// Saves x and reads the weight again in backward; no workspace is counted (the library chooses it by what is free).
Tensor convolution(Tape& tape, const Tensor& x, const Weights& weights, const ConvolutionCall& call);
/// Of training: saves x, a mean and a reciprocal root a channel.
Tensor batch_norm(Tape& tape, const Tensor& x, const Weights& weights);
/// Overwrites x and saves what it wrote.
Tensor relu_in_place(Tape& tape, const Tensor& x);
/// Saves x and where the largest numbers stood, as PyTorch does in 8 bytes each.
Tensor max_pool(Tape& tape, const Tensor& x, Shape made, std::int64_t bits_of_place = 64);
/// Means of windows: saves x.
Tensor average_pool(Tape& tape, const Tensor& x, Shape made);
/// a += b: no new memory, nothing saved.
Tensor add_in_place(Tape& tape, const Tensor& a, const Tensor& b);

}  // namespace plimsoll
