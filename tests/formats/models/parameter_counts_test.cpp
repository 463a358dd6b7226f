#include <catch2/catch.hpp>

#include "formats/models/model_zoo.h"
#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

TEST_CASE("the zoo's models have exactly the parameters that PyTorch's own modules count") {
  const auto text = read_text_file(PLIMSOLL_PARAMETER_COUNTS, kMiB);
  REQUIRE(text);
  const auto table = read_csv(*text, "parameter_counts.csv");
  REQUIRE(table);
  REQUIRE(table->rows.size() >= 90);
  const std::vector<ZooModel> zoo = built_in_zoo();
  for (const auto& row : table->rows) {
    CsvFields fields(*table, row);
    const std::string name = fields.text("model");
    CAPTURE(name);
    const auto model = find_in_zoo(name);
    REQUIRE(model);
    CHECK(model->parameters == static_cast<std::int64_t>(fields.number("parameters")));
  }
}

TEST_CASE("llm-foundry's MPTs have the parameters of its benchmark tables, whose positions are the sequence's") {
  // Rows of its tables at 2048 tokens; at 65536 a 7B has (65536 − 2048)·4096 more.
  const std::pair<const char*, std::int64_t> rows[] = {
      {"mpt-125m", 125'311'488}, {"mpt-350m", 355'985'408},   {"mpt-760m", 760'470'528},   {"mpt-1b", 1'315'950'592},
      {"mpt-3b", 2'651'837'440}, {"mpt-7b", 6'658'859'008},   {"mpt-13b", 12'853'954'560}, {"mpt-30b", 29'975'214'080},
      {"mpt-70b", 64'862'437'376}};
  for (const auto& [name, count] : rows) {
    CAPTURE(name);
    CHECK(find_in_zoo(name)->parameters == count);
  }
}

}  // namespace
}  // namespace plimsoll
