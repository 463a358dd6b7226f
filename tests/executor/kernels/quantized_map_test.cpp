#include "executor/kernels/quantized_map.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace plimsoll;

TEST_CASE("a map has 256 different values with 0 and 1 among them, the signed one as many below 0 as between 0 and 1") {
  for (const bool is_signed : {true, false}) {
    const auto& values = quantized_map(is_signed).values;
    CHECK(std::set<float>(values.begin(), values.end()).size() == 256);
    CHECK(std::is_sorted(values.begin(), values.end()));
    CHECK(std::count(values.begin(), values.end(), 0.0F) == 1);
    CHECK(values.back() == 1.0F);
    CHECK(std::count_if(values.begin(), values.end(), [](float v) { return v < 0; }) == (is_signed ? 127 : 0));
  }
}

TEST_CASE("values are the middles of equal parts of decades, each with twice the parts of the one below") {
  // The top decade of the signed map has 2⁶ = 64 parts of 0.9 / 64: its smallest value is 0.1 + 0.45 / 64 and its largest
  // 1 − 0.45 / 64. The lowest decade has one: 10⁻⁶ · 0.55. Without a sign they have 128 and 2.
  const auto& with_sign = quantized_map(true).values;
  CHECK(with_sign[254] == Approx(1 - 0.45 / 64));
  CHECK(with_sign[254 - 63] == Approx(0.1 + 0.45 / 64));
  CHECK(with_sign[254 - 64] == Approx(0.1 * (1 - 0.45 / 32)));
  CHECK(with_sign[127] == 0);
  CHECK(with_sign[128] == Approx(0.55e-6));
  CHECK(with_sign[126] == Approx(-0.55e-6));
  CHECK(with_sign[0] == Approx(-(1 - 0.45 / 64)));
  const auto& without = quantized_map(false).values;
  CHECK(without[0] == 0);
  CHECK(without[1] == Approx(0.325e-6));  // 10⁻⁶ (0.1 + 0.225)
  CHECK(without[2] == Approx(0.775e-6));
  CHECK(without[254] == Approx(1 - 0.45 / 128));
}

TEST_CASE("bounds lie halfway between neighbours") {
  const QuantizedMap& map = quantized_map(true);
  for (std::size_t i = 0; i < 255; ++i) {
    CHECK(map.bounds[i] > map.values[i]);
    CHECK(map.bounds[i] < map.values[i + 1]);
    CHECK(map.bounds[i] == Approx(0.5 * (map.values[i] + map.values[i + 1])).epsilon(1e-6));
  }
}
