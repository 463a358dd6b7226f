#include "sim/cost/uneven_products.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "formats/text/csv.h"
#include "formats/text/read_text_file.h"
#include "sim/cost/efficiencies.h"

using namespace plimsoll;

namespace {

/// A published product of two-byte numbers.
struct Measured {
  GpuEntry gpu;
  double m = 0;
  double n = 0;
  RowUnit unit = RowUnit::kWhole;
  double flops_per_second = 0;
  std::string source;
};

std::vector<Measured> measured() {
  const auto text = read_text_file(PLIMSOLL_UNEVEN_PRODUCTS, kMiB);
  REQUIRE(text);
  const auto table = read_csv(*text, "uneven_products.csv");
  REQUIRE(table);
  std::vector<Measured> rows;
  for (const CsvRow& row : table->rows) {
    CsvFields fields(*table, row);
    Measured made{.gpu = find_gpu(built_in_gpu_catalogue(), fields.text("gpu")).value(), .m = fields.number("m"), .n = fields.number("n"),
                  .flops_per_second = 1e12 * fields.number("tflops"), .source = fields.text("source")};
    made.unit = row_unit(static_cast<std::int64_t>(made.n), static_cast<std::int64_t>(fields.number("k")));
    REQUIRE_FALSE(fields.error());
    rows.push_back(made);
  }
  return rows;
}

bool is_of(const Measured& row, std::string_view file) { return row.source.find(file) != std::string::npos; }

/// Told over measured.
double ratio(const Measured& row) { return *uneven_product_flops(row.gpu, row.unit) / row.flops_per_second; }

/// By how much the rows of a file and a unit are told too fast, in the geometric mean.
double bias(std::string_view file, RowUnit unit) {
  double sum = 0;
  int count = 0;
  for (const Measured& row : measured()) {
    if (row.unit != unit || !is_of(row, file)) continue;
    sum += std::log(ratio(row));
    ++count;
  }
  REQUIRE(count > 0);
  return std::exp(sum / count) - 1;
}

/// Of whole waves of tiles of 128 by 128, one a multiprocessor, the share that the result fills.
double filled_share(const Measured& row) {
  const double tiles = std::ceil(row.m / 128) * std::ceil(row.n / 128);
  const auto places = static_cast<double>(row.gpu.multiprocessors);
  return row.m / 128 * (row.n / 128) / (places * std::ceil(tiles / places));
}

}  // namespace

TEST_CASE("The two constants of uneven rows are the geometric means of the A100's sweeps over vocabulary and width") {
  CHECK(bias("vocab_", RowUnit::kOdd) == Approx(0).margin(0.002));
  CHECK(bias("vocab_", RowUnit::kEven) == Approx(0).margin(0.002));
  // Rows of the result are told a little too slow, rows of the operands too fast.
  CHECK(bias("vocab_v", RowUnit::kOdd) == Approx(-0.02).margin(0.005));
  CHECK(bias("vocab_v", RowUnit::kEven) == Approx(0.12).margin(0.005));
}

TEST_CASE("Uneven products that no constant was fitted on are told within 11 % on the A100 and an RTX 4090") {
  CHECK(std::abs(bias("ksweep_low/a100", RowUnit::kEven)) < 0.08);
  for (const Measured& row : measured()) {
    if (row.gpu.name != "RTX 4090" || row.unit == RowUnit::kWhole) continue;
    const double told = ratio(row) * filled_share(row);
    CHECK(told > 1 / 1.11);
    CHECK(told < 1.11);
  }
}

TEST_CASE("An H100's odd products, which no constant was fitted on, are told within a third") {
  int compared = 0;
  for (const Measured& row : measured()) {
    // Of the gradient of weights the odd rows are the first matrix's, whose rows here are m.
    const bool odd = static_cast<std::int64_t>(row.m) % 2 == 1 || row.unit == RowUnit::kOdd;
    if (row.gpu.name != "H100 SXM5 80GB" || !odd) continue;
    const double told = *uneven_product_flops(row.gpu, RowUnit::kOdd) / row.flops_per_second;
    CAPTURE(row.m, row.n, row.flops_per_second, told, ++compared);
    CHECK(told > 0.75);
    CHECK(told < 4.0 / 3);
  }
  CHECK(compared == 6);
}

TEST_CASE("A V100 loads pairs of halves faster than its matrix units multiply: it has no limit of even rows, and 8 to 16 % to lose") {
  for (const Measured& row : measured()) {
    if (row.gpu.name != "V100 SXM2 16GB" || row.unit != RowUnit::kEven) continue;
    CHECK(*uneven_product_flops(row.gpu, row.unit) > 0.95 * *row.gpu.fp16_tflops * 1e12);
    CHECK(row.flops_per_second > 79e12 / 1.16);
    CHECK(row.flops_per_second < 79e12 / 1.08);
  }
}

TEST_CASE("Rows of whole 16 bytes have no limit, nor have boards without NVIDIA's matrix units") {
  const auto gpu = [](std::string_view name) { return find_gpu(built_in_gpu_catalogue(), name).value(); };
  CHECK_FALSE(uneven_product_flops(gpu("A100 40GB SXM4"), row_unit(50304)));
  for (const std::string_view name : {"MI300X", "RX 7900 XTX", "GTX 1080 Ti", "GTX 1660"}) CHECK_FALSE(uneven_product_flops(gpu(name), RowUnit::kOdd));
  CHECK(row_unit(50304) == RowUnit::kWhole);
  CHECK(row_unit(30522) == RowUnit::kEven);
  CHECK(row_unit(50257) == RowUnit::kOdd);
  CHECK(row_unit(4096, 50257) == RowUnit::kOdd);
}
