#include <catch2/catch.hpp>

#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "executor/data/counter_random.h"
#include "executor/data/normal_loops.h"

namespace plimsoll {
namespace {

constexpr std::uint64_t kKey = 0x5eed;

/// With the library's functions.
double box_muller(double first, double second) {
  return std::sqrt(-2.0 * std::log(1.0 - first)) * std::cos(2.0 * std::numbers::pi * second);
}

}  // namespace

TEST_CASE("a normal number is that of Box and Muller, from its place's two words") {
  for (std::uint64_t place = 0; place < 200000; ++place) {
    const double expected = box_muller(to_unit(random_at(kKey, 2 * place)), to_unit(random_at(kKey, 2 * place + 1)));
    REQUIRE(normal_at(kKey, place) == Approx(expected).epsilon(1e-14).margin(4e-15));
  }
}

TEST_CASE("every instruction set draws the bits that a number alone has, wherever a stretch begins and ends") {
  for (const InstructionSet set : instruction_sets()) {
    CAPTURE(to_text(set));
    for (const std::int64_t n : {0, 1, 7, 8, 1000, 4099}) {
      const std::uint64_t first = 1000003 * static_cast<std::uint64_t>(n);
      std::vector<double> numbers(static_cast<std::size_t>(n) + 1, -1.0);
      normal_loops(set).draw(kKey, first, n, numbers.data());
      for (std::int64_t i = 0; i < n; ++i) {
        const double alone = normal_at(kKey, first + static_cast<std::uint64_t>(i));
        REQUIRE(std::bit_cast<std::uint64_t>(numbers[static_cast<std::size_t>(i)]) == std::bit_cast<std::uint64_t>(alone));
      }
      CHECK(numbers.back() == -1.0);
    }
  }
}

TEST_CASE("a million normal numbers have the mean, the variance and the tails of the normal distribution") {
  constexpr std::int64_t kMany = 1000000;
  std::vector<double> numbers(kMany);
  normal_loops().draw(kKey, 0, kMany, numbers.data());
  double sum = 0, squares = 0;
  std::int64_t beyond_two = 0;
  for (const double x : numbers) {
    sum += x;
    squares += x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  CHECK(std::abs(sum / kMany) < 0.004);                                  // four of its deviations, 0.001
  CHECK(squares / kMany == Approx(1).margin(0.006));                     // of 0.0014
  CHECK(static_cast<double>(beyond_two) / kMany == Approx(0.0455).margin(0.0009));  // of 0.0002
}

}  // namespace plimsoll
