#include "executor/kernels/quantized_map.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll {
namespace {

constexpr int kDecades = 7;  // 10⁻⁶ … 1

/// Each decade [0.1, 1] · 10ᵉ is cut into equal parts, twice as many as the decade below; a code stands for a part's middle.
/// The smallest decade has one part, or two without a sign. 0 and 1 have codes of their own.
QuantizedMap make_map(bool is_signed) {
  std::vector<double> values{0, 1};
  for (int decade = 0; decade < kDecades; ++decade) {
    const int parts = 1 << (is_signed ? decade : decade + 1);
    for (int part = 0; part < parts; ++part) {
      const double middle = 0.1 + 0.9 * (part + 0.5) / parts;
      const double value = std::pow(10.0, decade - (kDecades - 1)) * middle;
      values.push_back(value);
      if (is_signed) values.push_back(-value);
    }
  }
  std::sort(values.begin(), values.end());
  QuantizedMap map;
  for (std::size_t i = 0; i < 256; ++i) map.values[i] = static_cast<float>(values[i]);
  for (std::size_t i = 0; i < 255; ++i) map.bounds[i] = static_cast<float>(0.5 * (values[i] + values[i + 1]));
  return map;
}

}  // namespace

const QuantizedMap& quantized_map(bool is_signed) {
  static const QuantizedMap with_sign = make_map(true);
  static const QuantizedMap without = make_map(false);
  return is_signed ? with_sign : without;
}

}  // namespace plimsoll
