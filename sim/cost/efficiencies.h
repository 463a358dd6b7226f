#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/model/dtype.h"
#include "formats/machines/constant_table.h"
#include "formats/machines/gpu_catalogue.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/fused_attention.h"

namespace plimsoll {

/// The share of a nominal rate that kernels of one sort reach, and how near to this GPU that was measured.
struct Efficiency {
  double share = 0;
  CostOrigin origin = CostOrigin::kExtrapolated;
};

/// Matrix products: the median of large shapes measured on this GPU, else the median over the boards nearest in kind (same
/// architecture and sort of board, then the same architecture for fp32 and the same sort for matrix units, then all), and no more
/// than `powered_share`, since rows are of seconds. Nothing for types that no row has (fp64).
std::optional<Efficiency> product_efficiency(const GpuEntry& gpu, DType dtype);

/// Large products of 8-bit operands: the share of the board's own row, else what its bf16 products reach times what the boards with
/// rows of both keep of that (the median). One shape was measured a board, so either is an extrapolation.
std::optional<Efficiency> fp8_efficiency(const GpuEntry& gpu);

/// The share of their nominal rate that matrix units can be fed with for long: power grows faster than the clock, so that of boards
/// of one generation the rate goes as a power of the watts for each nominal TFLOP/s (keys `power.*`). Nothing of other boards, nor of fp32.
std::optional<double> powered_share(const GpuEntry& gpu, DType dtype);

/// What a step leaves of the nominal rate of matrix units where a board's power holds its clock down (keys `sustained.*`, the base
/// clock's share; products at that clock reach what they reach of any). Nothing of other boards, nor of fp32, which draws less.
std::optional<double> sustained_share(std::string_view gpu, DType dtype);

/// Streaming kernels against nominal memory bandwidth (copies and triads measured on this GPU, else what such kernels
/// reach).
Efficiency memory_efficiency(const GpuEntry& gpu);

/// Causal attention against the nominal rate of `dtype`: between 512 and 8192 tokens straight in the logarithm of
/// `sequence`, between measured head sizes straight in `head_dim`, constant outside. A kernel of which no row tells on this GPU is told as the other one.
std::optional<Efficiency> attention_efficiency(const GpuEntry& gpu, DType dtype, std::int64_t sequence,
                                               std::int64_t head_dim, bool backward,
                                               FusedAttention kernel = FusedAttention::kFlash);

/// Start-up times, in-step factors, intervals (data/calibration/cost_constants.csv).
const ConstantTable& cost_constants();

/// `median` with the interval that its origin deserves; at least one nanosecond.
Cost cost_of(double seconds, CostOrigin origin);

}  // namespace plimsoll
