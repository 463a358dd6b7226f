#include "formats/machines/optimizer_rate.h"

#include <algorithm>
#include <cmath>

#include "formats/machines/constant_table.h"

namespace plimsoll {

double optimizer_rate(double cores, double memory_bytes_per_second) {
  const ConstantTable& defaults = machine_defaults();
  const double of_memory = defaults.at("optimizer.dram_share") * memory_bytes_per_second;
  const double of_cores = 1e9 * defaults.at("optimizer.core_rate") * std::pow(std::max(1.0, cores), defaults.at("optimizer.core_exponent"));
  return std::min(of_memory, of_cores);
}

double cores_for_memory(double memory_bytes_per_second) {
  const ConstantTable& defaults = machine_defaults();
  const double of_memory = defaults.at("optimizer.dram_share") * memory_bytes_per_second;
  const double cores = std::pow(of_memory / (1e9 * defaults.at("optimizer.core_rate")), 1 / defaults.at("optimizer.core_exponent"));
  return std::max(1.0, std::ceil(cores));
}

}  // namespace plimsoll
