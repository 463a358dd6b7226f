#include "sim/stack/host_rates.h"

#include <catch2/catch.hpp>

namespace plimsoll {
namespace {

HostRates rates_of(std::int64_t gpus, std::optional<std::int64_t> nodes) {
  StackSetup setup{.stack = Stack::kDeepspeed, .data_ranks = gpus, .zero = 3, .nodes = nodes};
  setup.dram_gbs = 200;
  setup.drive_read_gbs = 8;
  setup.drive_write_gbs = 4;
  return host_rates(*find_gpu(built_in_gpu_catalogue(), "A100 80GB SXM4"), setup);
}

}  // namespace

TEST_CASE("the ranks of a node share its memory and drives, and those of other nodes have their own") {
  const HostRates alone = rates_of(1, {}), node = rates_of(8, {}), many = rates_of(64, 8);
  CHECK(node.updates == Approx(alone.updates / 8));
  CHECK(node.reads == Approx(alone.reads / 8));
  CHECK(node.writes == Approx(0.5e9));
  CHECK(many.updates == node.updates);
  CHECK(many.reads == node.reads);
  CHECK(rates_of(8, 4).updates == Approx(alone.updates / 2));
  CHECK(many.link == alone.link);  // each GPU's own
}

}  // namespace plimsoll
