#pragma once

#include <cstdint>

#include "sim/stack/adapter_setup.h"
#include "sim/stack/tape/operations.h"

namespace plimsoll {

struct DenseLayer;

/// What PEFT holds beside one matrix [outputs, inputs]; which of these there are is the method's.
struct AdapterWeights {
  AdapterMethod method = AdapterMethod::kLora;
  Parameter* down = nullptr;        ///< A [rank, inputs]; of VeRA the matrices that all layers share, of which it reads a part
  Parameter* up = nullptr;          ///< B [outputs, rank]
  Parameter* second_down = nullptr; ///< of LoHa's second product
  Parameter* second_up = nullptr;
  Parameter* outer = nullptr;       ///< LoKr's first factor
  Parameter* ranks = nullptr;       ///< AdaLoRA's E, VeRA's d
  Parameter* vector = nullptr;      ///< DoRA's magnitudes, VeRA's b, IA3's factors, a bias
  bool scales_input = false;        ///< IA3 in front of a matrix, not behind it
  double dropout = 0;               ///< of what the adapter reads

  [[nodiscard]] bool exists() const { return down != nullptr || outer != nullptr || vector != nullptr; }
};

/// Matrices that VeRA's layers share: frozen, as large as the largest layer needs.
struct SharedMatrices {
  Parameter* down = nullptr;
  Parameter* up = nullptr;
};

/// `out`, which the frozen layer made of x, with what its adapter adds or makes of it, as PEFT's code computes it.
Tensor with_adapter(Tape& tape, const Tensor& x, Tensor out, const DenseLayer& layer);
/// What IA3 hands to a matrix in x's place.
Tensor scaled_input(Tape& tape, const Tensor& x, const AdapterWeights& adapter);

/// The term of the loss that keeps AdaLoRA's matrices orthogonal, added to it.
Tensor with_orthogonality(Tape& tape, const Tensor& loss);

}  // namespace plimsoll
