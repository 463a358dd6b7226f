#include "executor/data/counter_random.h"

#include "executor/data/normal_formula.h"

namespace plimsoll {

double normal_at(std::uint64_t key, std::uint64_t place) { return number_at(key, place); }

}  // namespace plimsoll
