#pragma once

#include <cstdint>
#include <string>

#include "core/model/adapter.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {

/// A linear layer of a model, perhaps frozen, encoded, with a low-rank adapter beside it.
struct DenseLayer : Weights {
  Parameter* down = nullptr;  ///< A of the adapter [rank, inputs]; nothing without one
  Parameter* up = nullptr;    ///< B [outputs, rank]
  double dropout = 0;         ///< of what the adapter reads
  bool encoded = false;       ///< the weight is decoded for each product
  DType compute = DType::kFp32;  ///< of an encoded weight's products; what comes out has the input's type again
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

/// How a model's layers are made: in which type, frozen or not, with which adapters.
struct DenseMaker {
  Tape& tape;
  const AdapterSpec& adapter;
  DType dtype = DType::kFp32;    ///< of the parameters
  DType compute = DType::kFp32;  ///< of products with encoded weights
  DType adapters = DType::kFp32; ///< of adapters' matrices
  double dropout = 0;            ///< of what adapters read
  bool plain_scales = false;     ///< as in the setup
  bool fp8 = false;              ///< products of `make`'s layers are in 8 bits, adapters' not

  /// A layer of `inputs` → `outputs`; with an adapter where `target` is one of the adapter's.
  [[nodiscard]] DenseLayer make(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias, AdapterTarget target) const;
  /// One that never has an adapter and is not encoded (heads, poolers).
  [[nodiscard]] DenseLayer make_plain(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias) const;
  /// A parameter that is trained only where everything is.
  [[nodiscard]] Parameter* parameter(const std::string& name, Shape shape) const;
};

/// x Wᵀ + b, and scale · (x Aᵀ) Bᵀ beside it as PEFT computes it: the input in the adapter's type, the product scaled, cast and
/// added; an encoded weight is decoded before its product, forward and backward (Dettmers et al. 2023).
Tensor dense_layer(Tape& tape, const Tensor& x, const DenseLayer& layer);

}  // namespace plimsoll
