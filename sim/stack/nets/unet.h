#pragma once

#include <vector>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/nets/net_layers.h"
#include "sim/stack/nets/net_shapes.h"

namespace plimsoll {

/// See UnetShape.
class Unet : public StackModel {
 public:
  Unet(Tape& tape, const UnetShape& shape, std::int64_t batch, bool flash, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  struct Residual {
    Weights norm1, conv1, time, norm2, conv2, shortcut;
    std::int64_t outputs = 0;
  };
  struct Attention {
    Weights q, k, v, out;
  };
  struct Transformer {
    Weights norm, in, norm1, norm2, norm3, feed_in, feed_out, out;
    Attention self, cross;
  };
  struct Level {
    std::vector<Residual> residuals;
    std::vector<Transformer> transformers;  ///< one each, or none
    Weights change;                         ///< of the planes' size, to the next level
  };

  Residual make_residual(const std::string& name, std::int64_t inputs, std::int64_t outputs) const;
  Attention make_attention(const std::string& name, std::int64_t width, std::int64_t context) const;
  Transformer make_transformer(const std::string& name, std::int64_t width) const;
  void make_down();
  void make_up();

  Tensor residual(const Residual& block, const Tensor& x);
  Tensor attend(const Attention& weights, const Tensor& x, const Tensor& memory);
  Tensor transform(const Transformer& block, const Tensor& x);
  Tensor down(const Tensor& x, Tensors& left_behind);
  Tensor up(const Tensor& x, Tensors& left_behind);

  Tape& tape_;
  UnetShape shape_;
  NetMaker make_;
  std::int64_t batch_;
  bool flash_;
  Weights in_, time1_, time2_, norm_, out_;
  std::vector<Level> down_, up_;
  Residual middle1_, middle2_;
  Transformer middle_;
  Tensor time_, text_;  ///< of the pass
};

}  // namespace plimsoll
