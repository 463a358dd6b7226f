#pragma once

#include <cstdint>
#include <optional>

#include "formats/machines/gpu_catalogue.h"

namespace plimsoll {

/// How matrices in two bytes a number can be read whose rows have so many numbers: eight at once (16 bytes, whole rows), two, or one.
enum class RowUnit : std::uint8_t { kWhole, kEven, kOdd };

RowUnit row_unit(std::int64_t numbers);

/// The unit of a product that reads and writes rows of both kinds: the worse.
RowUnit row_unit(std::int64_t numbers, std::int64_t others);

/// Whether matrix units that NVIDIA's cuBLAS serves: they are what the rules of uneven rows were measured on.
bool has_cublas_matrix_units(const GpuEntry& gpu);

/// FLOP/s that a product with such rows reaches at most since cuBLAS 11, whatever the matrix units could: loading bounds it, which
/// is so many FLOP a clock on every multiprocessor. Nothing where rows are whole, and on boards of which nobody has told.
std::optional<double> uneven_product_flops(const GpuEntry& gpu, RowUnit unit);

}  // namespace plimsoll
