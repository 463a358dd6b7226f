#pragma once

#include <vector>

#include "sim/stack/modules/stack_model.h"
#include "sim/stack/nets/net_layers.h"
#include "sim/stack/nets/net_shapes.h"

namespace plimsoll {

/// See EvoformerShape.
class Evoformer : public StackModel {
 public:
  Evoformer(Tape& tape, const EvoformerShape& shape, bool recompute, DType weights);

  Loss loss(std::optional<DType> autocast) override;

 private:
  struct Attention {
    Weights norm, q, k, v, gate, out;
    std::int64_t heads = 1;
  };
  struct Product {  ///< of a triangle's two other sides
    Weights norm, left, left_gate, right, right_gate, norm_out, out, gate;
  };
  struct Transition {
    Weights norm, in, out;
  };
  struct Block {
    Attention row, column, starting, ending;
    Weights row_bias_norm, row_bias, starting_bias, ending_bias;
    Transition msa, pair;
    Weights outer_norm, outer_left, outer_right, outer_out;
    Product outgoing, incoming;
  };

  Attention make_attention(const std::string& name, std::int64_t width, std::int64_t heads) const;
  Product make_product(const std::string& name) const;
  Transition make_transition(const std::string& name, std::int64_t width) const;
  Block make_block(const std::string& name) const;

  /// Rows of x attend within themselves: [rows, length, width], with a bias [heads, length, length] or none.
  Tensor attend(const Attention& weights, const Tensor& x, const Tensor& bias);
  /// Cut by rows, of all other ranks' rows too.
  Tensor pair_bias(const Tensor& pairs, const Weights& weights, std::int64_t heads);
  Tensor triangle_product(const Product& weights, const Tensor& pairs);
  Tensor triangle_attention(const Attention& weights, const Weights& bias, const Tensor& pairs);
  Tensor outer_product(const Block& weights, const Tensor& msa);
  /// The first two dimensions change places, and the one that was whole is cut.
  Tensor turned(const Tensor& x);
  Tensor transition(const Transition& weights, const Tensor& x);
  Tensors block(const Block& weights, const Tensors& streams);

  Tape& tape_;
  EvoformerShape shape_;
  NetMaker make_;
  bool recompute_;
  std::vector<Block> blocks_;
};

}  // namespace plimsoll
