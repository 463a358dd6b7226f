#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/model/adapter.h"
#include "sim/stack/modules/adapter_layer.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {

/// A linear layer of a model, perhaps frozen, encoded, with an adapter beside it.
struct DenseLayer : Weights {
  AdapterWeights adapter;     ///< nothing without one
  bool encoded = false;       ///< the weight is decoded for each product
  Tensor scales;              ///< of an encoded weight, where they lie beside its codes and not among them
  bool keeps_input = false;   ///< of an encoded weight: what was read waits for the backward pass, though it reads the codes alone
  DType compute = DType::kFp32;  ///< of an encoded weight's products; what comes out has the input's type again
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::vector<Weights> group;  ///< of experts that multiply at once; the layer then has no matrix of its own
};

/// How a model's layers are made: in which type, frozen or not, with which adapters.
struct DenseMaker {
  Tape& tape;
  const AdapterSpec& adapter;
  DType dtype = DType::kFp32;    ///< of the parameters
  DType compute = DType::kFp32;  ///< of products with encoded weights
  DType adapters = DType::kFp32; ///< of adapters' matrices
  double dropout = 0;            ///< of what adapters read
  AdapterSetup kind = {};        ///< what adapters are, and which modules are trained as copies
  SharedMatrices shared = {};    ///< of VeRA's adapters
  bool plain_scales = false;     ///< as in the setup
  bool whole_scales = false;     ///< scales of a 4-bit base are no parameters: FSDP shares out the codes alone, and every rank has all scales
  bool older_bitsandbytes = false;  ///< as in the setup
  bool encodes = true;           ///< layers of a base of 4 or 8 bits
  bool fp8 = false;              ///< products of `make`'s layers are in 8 bits, adapters' not
  std::string prefix = {};       ///< of a frozen copy's parameters; empty: they are the model's own

  /// A layer of `inputs` → `outputs`; with an adapter where `target` is one of the adapter's.
  [[nodiscard]] DenseLayer make(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias, AdapterTarget target) const;
  /// One that never has an adapter and is not encoded (heads, poolers).
  [[nodiscard]] DenseLayer make_plain(const std::string& name, std::int64_t inputs, std::int64_t outputs, bool bias) const;
  /// A parameter that is trained only where everything is.
  [[nodiscard]] Parameter* parameter(const std::string& name, Shape shape) const;
  /// One of a module of which, if `copied`, a copy is trained beside the frozen one; the one that forward reads.
  [[nodiscard]] Parameter* parameter_or_copy(const std::string& name, Shape shape, bool copied) const;

 private:
  [[nodiscard]] AdapterWeights make_adapter(const std::string& name, std::int64_t inputs, std::int64_t outputs, AdapterTarget target) const;
};

/// x Wᵀ + b, and what its adapter makes of that; an encoded weight is decoded before its product, forward and backward (Dettmers et
/// al. 2023).
Tensor dense_layer(Tape& tape, const Tensor& x, const DenseLayer& layer);
/// W itself, or decoded into a tensor of its own.
Tensor whole_weight(Tape& tape, const DenseLayer& layer);

}  // namespace plimsoll
