#include <catch2/catch.hpp>
#include <cmath>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/planner/chains/chain_curve.h"

namespace plimsoll::test {
namespace {

/// Layers that save their output only, with sizes in 400ths of the sum of all, rounded up.
BlockChain vgg16_in_400ths() {
  const std::string path = std::string(PLIMSOLL_CHAIN_DATA) + "/vgg16.csv";
  const CsvTable table = read_csv(read_text_file(path, kMiB).value(), path).value();
  constexpr double kInput = 77070336;  // 128 images of 3 x 224 x 224 in fp32
  std::vector<double> sizes{kInput};
  BlockChain chain;
  double sum = 0;
  for (const CsvRow& row : table.rows) {
    CsvFields fields(table, row);
    const double forward = fields.number("forward_ms");
    chain.blocks.push_back(
        {.forward_only_seconds = forward,
         .options = {{.forward_seconds = forward, .backward_seconds = fields.number("backward_ms")}}});
    sum += sizes.emplace_back(fields.number("output_bytes"));
  }
  const auto slots = [&](double bytes) { return Bytes(static_cast<std::int64_t>(std::ceil(bytes / sum * 400))); };
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    chain.blocks[i].input = slots(sizes[i]);
    chain.blocks[i].options[0].saved = slots(sizes[i + 1]);
  }
  chain.output = slots(sizes.back());
  return chain;
}

}  // namespace

TEST_CASE("VGG-16 in slots takes what the published recurrence says") {
  const BlockChain chain = vgg16_in_400ths();
  REQUIRE(chain.blocks.size() == 40);
  const ChainCurve curve(chain);
  REQUIRE(curve.exact());
  const auto percent_more = [&](std::int64_t slots) {
    return 100 * (step_at(curve.steps(), Bytes(slots))->seconds / curve.steps().back().seconds - 1);
  };
  CHECK(percent_more(320) == Approx(4.4).margin(0.05));
  CHECK(percent_more(240) == Approx(11.0).margin(0.05));
  CHECK(percent_more(200) == Approx(17.0).margin(0.05));
  CHECK(percent_more(160) == Approx(27.5).margin(0.05));
}

}  // namespace plimsoll::test
