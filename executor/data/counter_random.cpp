#include "executor/data/counter_random.h"

#include <cmath>
#include <numbers>

namespace plimsoll {

double normal_at(std::uint64_t key, std::uint64_t place) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - to_unit(random_at(key, 2 * place))));
  return radius * std::cos(2.0 * std::numbers::pi * to_unit(random_at(key, 2 * place + 1)));
}

}  // namespace plimsoll
