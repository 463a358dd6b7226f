#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/base/quantity.h"
#include "core/base/result.h"
#include "core/model/dtype.h"

namespace plimsoll {

/// A matrix product C (m × n) = A (m × k) B (k × n).
struct ProductShape {
  DType dtype = DType::kBf16;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;

  auto operator<=>(const ProductShape&) const = default;
};

enum class CopyDirection { kUp, kDown };

/// A device that benchmarks keep busy. Not shared between threads. What the device refuses throws an EnvironmentError.
class BenchDevice {
 public:
  virtual ~BenchDevice() = default;

  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual bool knows(DType dtype) const = 0;
  /// Makes the operands of products of this shape, drawn from N(0, 1): what a product takes depends on its data's bits. They
  /// replace those of the shape before.
  virtual void prepare(const ProductShape& shape) = 0;
  /// Seconds that `count` products of the prepared shape take, by the device's own clock.
  virtual double multiply(std::int64_t count) = 0;
  /// Seconds that `count` copies of `bytes` between pinned host memory and the device take, by the device's own clock; with the
  /// other direction busy all the while, if asked.
  virtual double copy(CopyDirection direction, Bytes bytes, bool other_busy, std::int64_t count) = 0;
};

/// The first GPU of this computer. Where there is none, the error says what is missing.
Result<std::unique_ptr<BenchDevice>> open_bench_device();

}  // namespace plimsoll
