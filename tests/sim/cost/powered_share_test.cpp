#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/cost/efficiencies.h"

using namespace plimsoll;

namespace {

/// What a board was measured to keep up for ten minutes, in logarithms.
struct Sustained {
  std::string gpu;
  std::string precision;
  std::string line;  ///< architecture, sort of board and precision, within which boards differ by their watts
  double watts = 0;  ///< for each nominal TFLOP/s
  double rate = 0;   ///< samples a second for each nominal TFLOP/s
};

Sustained read_sustained(CsvFields& fields) {
  const GpuEntry gpu = find_gpu(built_in_gpu_catalogue(), fields.text("gpu")).value();
  const std::string precision = fields.text("precision");
  const double rate = fields.number("samples_per_second") / fields.number("gpus");
  return {.gpu = gpu.name, .precision = precision, .line = gpu.architecture + std::string(to_text(gpu.board)) + precision,
          .watts = std::log(fields.number("watts") / *gpu.bf16_tflops), .rate = std::log(rate / *gpu.bf16_tflops)};
}

std::vector<Sustained> sustained() {
  const auto text = read_text_file(PLIMSOLL_SUSTAINED_RATES, kMiB);
  REQUIRE(text);
  const auto table = read_csv(*text, "sustained_rates.csv");
  REQUIRE(table);
  std::vector<Sustained> rows;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    rows.push_back(read_sustained(fields));
    REQUIRE_FALSE(fields.error());
  }
  return rows;
}

/// Least squares of parallel lines, one for each generation and precision.
struct Lines {
  double slope = 0;
  std::map<std::string, double> at_one_watt;
};

Lines fitted(const std::vector<Sustained>& rows) {
  std::map<std::string, Sustained> means;
  std::map<std::string, double> counts;
  for (const Sustained& row : rows) {
    means[row.line].watts += row.watts;
    means[row.line].rate += row.rate;
    ++counts[row.line];
  }
  double together = 0, alone = 0;
  for (const Sustained& row : rows) {
    const double count = counts[row.line];
    const double watts = row.watts - means[row.line].watts / count;
    together += watts * (row.rate - means[row.line].rate / count);
    alone += watts * watts;
  }
  Lines lines{.slope = together / alone, .at_one_watt = {}};
  for (const auto& [line, mean] : means) lines.at_one_watt[line] = (mean.rate - lines.slope * mean.watts) / counts[line];
  return lines;
}

/// Rows of two-byte numbers and fp8; those in int8 were left out of the fit.
bool is_fitted(const Sustained& row) { return row.precision != "int8"; }

template <typename Keep>
std::vector<Sustained> those(Keep keep) {
  std::vector<Sustained> kept;
  for (const Sustained& row : sustained())
    if (keep(row)) kept.push_back(row);
  return kept;
}

double share_of(std::string_view name) {
  return product_efficiency(*find_gpu(built_in_gpu_catalogue(), name), DType::kBf16)->share;
}

}  // namespace

TEST_CASE("What a board keeps up for ten minutes goes as a power of its watts, the same one for two generations") {
  const Lines lines = fitted(those(is_fitted));
  CHECK(lines.slope == Approx(cost_constants().at("power.exponent")).margin(0.005));
}

TEST_CASE("Without a board's rows its watts foretell them within 9 percent") {
  for (const Sustained& board : those(is_fitted)) {
    const Lines others = fitted(those([&](const Sustained& row) { return is_fitted(row) && row.gpu != board.gpu; }));
    const auto line = others.at_one_watt.find(board.line);
    if (line == others.at_one_watt.end()) continue;
    INFO(board.gpu);
    CHECK(std::abs(std::exp(line->second + others.slope * board.watts - board.rate) - 1) < 0.09);
  }
}

TEST_CASE("The exponent of wide numbers foretells int8, which it was not fitted on") {
  const auto narrow = those([](const Sustained& row) { return !is_fitted(row); });
  int told = 0;
  for (const Sustained& from : narrow) {
    if (from.gpu != "A100 80GB SXM4" && from.gpu != "H100 SXM5 80GB") continue;
    for (const Sustained& row : narrow) {
      if (row.line != from.line || row.gpu == from.gpu) continue;
      INFO(row.gpu);
      const double rate = from.rate + cost_constants().at("power.exponent") * (row.watts - from.watts);
      CHECK(std::abs(std::exp(rate - row.rate) - 1) < 0.055);
      ++told;
    }
  }
  CHECK(told == 6);
}

TEST_CASE("Boards of one generation keep less of their nominal rate the fewer watts they have for it") {
  // An H100 NVL has 0.48 W for each TFLOP/s, an H100 SXM 0.71; its own rows are 0.63 and 0.66 of the SXM's.
  const auto rate = [](std::string_view name) { return share_of(name) * *find_gpu(built_in_gpu_catalogue(), name)->bf16_tflops; };
  CHECK(rate("H100 NVL 94GB") / rate("H100 SXM5 80GB") == Approx(0.685).margin(0.01));
  CHECK(share_of("H100 PCIe 80GB") < share_of("H100 NVL 94GB"));
  CHECK(share_of("A100 40GB PCIe") < share_of("A100 80GB PCIe"));
  CHECK(share_of("A100 80GB PCIe") < share_of("A100 80GB SXM4"));
  CHECK(share_of("RTX 6000 Ada") < share_of("L40S"));
  CHECK(share_of("A10") < share_of("A40"));
}

TEST_CASE("Where watts do not bind, a board reaches what it was measured to reach, and so do vector units") {
  CHECK(share_of("H100 SXM5 80GB") == 0.803);
  CHECK(share_of("A100 80GB SXM4") == 0.851);
  CHECK(share_of("L40S") == 0.744);
  CHECK(share_of("RTX 2000 Ada") == share_of("L40S"));  // 1.46 W for each TFLOP/s; the L4 beside it has 0.6
  const GpuEntry pcie = *find_gpu(built_in_gpu_catalogue(), "A100 40GB PCIe");
  CHECK_FALSE(powered_share(pcie, DType::kFp32));
  CHECK(product_efficiency(pcie, DType::kFp32)->share == 0.901);
  CHECK_FALSE(powered_share(*find_gpu(built_in_gpu_catalogue(), "RTX 4090"), DType::kBf16));
}
