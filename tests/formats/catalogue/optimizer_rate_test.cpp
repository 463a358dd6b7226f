#include "formats/machines/optimizer_rate.h"

#include <catch2/catch.hpp>

#include "formats/machines/constant_table.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"

namespace plimsoll::test {

TEST_CASE("the cores' rate is within 16 % of each that it was fitted on, where memory has more to give") {
  const auto text = read_text_file(PLIMSOLL_HOST_UPDATE_RATES, kMiB);
  REQUIRE(text);
  const auto table = read_csv(*text, "host_update_rates.csv");
  REQUIRE(table);
  CHECK(table->rows.size() == 6);
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    const double workers = fields.number("workers"), measured = 1e9 * fields.number("gb_per_second");
    REQUIRE_FALSE(fields.error());
    CAPTURE(workers, measured);
    CHECK(optimizer_rate(workers, 1e13) == Approx(measured).epsilon(0.16));
  }
}

TEST_CASE("an optimizer streams no faster than its share of the memory, nor than its cores ask for") {
  const double share = machine_defaults().at("optimizer.dram_share");
  CHECK(optimizer_rate(8, 40e9) == Approx(share * 40e9));  // a desktop
  CHECK(optimizer_rate(2, 184e9) == Approx(20e9 * 1.7411));  // 2 to the power of 0.8, of a server's memory
}

TEST_CASE("as many cores as a memory's optimizer asks for are the fewest that it limits") {
  for (const double memory : {20e9, 184e9, 1600e9}) {
    const double cores = cores_for_memory(memory);
    CHECK(optimizer_rate(cores, memory) == Approx(0.75 * memory));
    if (cores > 1) CHECK(optimizer_rate(cores - 1, memory) < 0.75 * memory);
  }
}

}  // namespace plimsoll::test
