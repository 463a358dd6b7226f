#pragma once

#include <vector>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/nets/net_layers.h"
#include "sim/stack/nets/net_shapes.h"

namespace plimsoll {

/// See DitShape.
class Dit : public StackModel {
 public:
  Dit(Tape& tape, const DitShape& shape, std::int64_t batch, bool flash, bool recompute, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  struct Block {
    Weights modulation, qkv, out, feed_in, feed_out;
  };

  Tensor condition();
  Tensor modulated(const Tensor& x, const Tensor& shift_by, const Tensor& stretch) const;
  Tensor block(const Block& weights, const Tensor& x, const Tensor& condition);

  Tape& tape_;
  DitShape shape_;
  NetMaker make_;
  std::int64_t batch_;
  bool flash_, recompute_;
  Weights patches_, time1_, time2_, last_modulation_, last_;
  Parameter* labels_ = nullptr;
  Parameter* positions_ = nullptr;  ///< not trained
  std::vector<Block> blocks_;
};

}  // namespace plimsoll
