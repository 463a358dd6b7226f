// What transformers' modules request of PyTorch's own CUDA allocator, of a board that computes nothing.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

Arguments asked_of(const std::string& model, const std::string& options) {
  Arguments asked{"fit", model, "--on", "A100 80GB SXM4", "--json"};
  std::istringstream words(options);
  for (std::string word; words >> word;) asked.push_back(word);
  if (std::find(asked.begin(), asked.end(), "--stack") == asked.end()) asked.insert(asked.end(), {"--stack", "pytorch"});
  return asked;
}

/// Every row's peak is told within a thousandth.
void check_rows(const std::string& name, std::size_t at_least) {
  constexpr Bytes kLargestFile{std::int64_t{1} << 20};
  const std::string path = PLIMSOLL_NULL_GPU "/" + name;
  const auto table = read_csv(*read_text_file(path, kLargestFile), path);
  REQUIRE(table);
  REQUIRE(table->rows.size() > at_least);
  const TemporaryFolder folder;
  for (const CsvRow& fields : table->rows) {
    CsvFields row(*table, fields);
    const std::string model = folder.file(row.text("case"));
    std::filesystem::create_directory(model);
    write_file(model + "/config.json", row.text("config"));
    const auto end = plimsoll_in(folder, asked_of(model, row.text("options")));
    INFO(row.text("case") << ": " << end.err);
    REQUIRE_FALSE(end.out.empty());
    const auto answer = nlohmann::json::parse(end.out);
    CHECK(answer["memory"][0]["peak_requested_bytes"].get<double>() == Approx(row.number("requested")).epsilon(0.001));
  }
}

}  // namespace

TEST_CASE("a step of transformers' modules requests what PyTorch's allocator counts") { check_rows("null_gpu_peaks.csv", 40); }

TEST_CASE("so do QLoRA, bitsandbytes' optimizers, updates in backward and transformers' Trainer") { check_rows("null_gpu_more.csv", 40); }

TEST_CASE("so does a rank of DDP, FSDP and DeepSpeed's ZeRO") { check_rows("null_gpu_ranks.csv", 20); }

}  // namespace plimsoll::test
