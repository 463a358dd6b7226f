#pragma once

#include <map>
#include <string>

#include "core/model/dtype.h"
#include "core/model/recipe.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/cost/fused_attention.h"
#include "sim/stack/stack_setup.h"

namespace plimsoll {

/// What kernels of a program reach on a GPU within a training step: nominal rates, times the share that was measured of such
/// kernels alone, times what a step leaves of that (keys `stack.*` of data/calibration/cost_constants.csv).
struct KernelRates {
  GpuEntry gpu;
  std::map<DType, double> nominal;   ///< FLOP/s of the units that compute in a type; nothing where the GPU has none
  std::map<DType, double> products;  ///< FLOP/s of large matrix products
  FusedAttention attention = FusedAttention::kFlash;
  double attention_share = 1;        ///< of what fused attention reaches alone
  bool whole_rows_only = false;      ///< matrix units multiply where all sizes are multiples of 8, and nothing else (cuBLAS before 11)
  bool pads_rows = false;            ///< a compiler copies operands into longer rows where that is faster
  double operands = 0;               ///< bytes/s of the operands of products and attention
  double streams = 0;                ///< of eager mode's bytes/s: a compiler leaves fewer bytes, which counts as a faster stream
  double updates = 0;                ///< bytes/s of an optimizer's kernels
  double planes = 0;                 ///< bytes/s of elementwise kernels over feature maps, counted as streams are
  double norms = 0;                  ///< of batch norms over such maps, compiled or not
  double norm_share = 1;             ///< of that, what a norm over planes of two bytes a number reaches
  double relayouts = 0;              ///< bytes/s of turning planes into pixels and back
  double startup = 0;                ///< seconds between one kernel's work and the next one's
};

/// Whether PyTorch's scaled_dot_product_attention goes to cuDNN on such a GPU: as the setup says; else on Hopper for modules that call it,
/// since the cuDNN that comes with PyTorch is newer than 9.15 (PyTorch 2.11; aten's sdp_utils). Blackwell takes it too, but the rates
/// there are FlashAttention 4's whoever computes.
bool takes_cudnn(const StackSetup& setup, const GpuEntry& gpu);

/// What is taken for granted of products in 8 bits, for people.
std::string fp8_assumption(const GpuEntry& gpu);

/// A GPU without a known memory bandwidth is an error.
Result<KernelRates> kernel_rates(const GpuEntry& gpu, const StackSetup& setup, Precision precision);

}  // namespace plimsoll
