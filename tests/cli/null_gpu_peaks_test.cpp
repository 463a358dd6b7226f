// What transformers' modules request of PyTorch's own CUDA allocator, of a board that computes nothing.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "tests/cli/program.h"

namespace plimsoll::test {

TEST_CASE("a step of transformers' modules requests what PyTorch's allocator counts") {
  constexpr Bytes kLargestFile{std::int64_t{1} << 20};
  const std::string path = PLIMSOLL_NULL_GPU_PEAKS;
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  REQUIRE(table->rows.size() > 40);
  const TemporaryFolder folder;
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const std::string model = folder.file(row.text("case"));
    std::filesystem::create_directory(model);
    write_file(model + "/config.json", row.text("config"));
    Arguments asked{"fit", model, "--on", "A100 80GB SXM4", "--stack", "pytorch", "--json"};
    std::istringstream options(row.text("options"));
    for (std::string word; options >> word;) asked.push_back(word);
    const auto end = plimsoll_in(folder, asked);
    INFO(row.text("case") << ": " << end.err);
    REQUIRE_FALSE(end.out.empty());
    const auto answer = nlohmann::json::parse(end.out);
    CHECK(answer["memory"][0]["peak_requested_bytes"].get<double>() == Approx(row.number("requested")).epsilon(0.001));
  }
}

}  // namespace plimsoll::test
