#include "sim/cost/sample_file.h"

#include <catch2/catch.hpp>

#include "formats/machines/catalogue_platform.h"
#include "sim/cost/calibrate.h"
#include "sim/cost/catalogue_cost_model.h"

namespace plimsoll {
namespace {

Platform machine() { return gpu_platform(*find_gpu(built_in_gpu_catalogue(), "RTX 3090"))->platform; }

constexpr std::string_view kCsv =
    "kind,dtype,shape,seconds,place\n"
    "linear,bf16,rows=8192 inputs=768 outputs=3072,0.0007,\n"
    "linear,bf16,rows=8192 inputs=768 outputs=3072,0.0005,gpu0\n"
    "transfer,,bytes=67108864,0.0054,host->gpu0\n";

constexpr std::string_view kJson = R"({"format_version": 1, "samples": [
  {"kind": "linear", "dtype": "bf16", "shape": "rows=8192 inputs=768 outputs=3072", "seconds": 0.0007},
  {"kind": "linear", "dtype": "bf16", "shape": "rows=8192 inputs=768 outputs=3072", "seconds": 0.0005, "place": "gpu0"},
  {"kind": "transfer", "shape": "bytes=67108864", "seconds": 0.0054, "place": "host->gpu0"}]})";

std::string refusal(const std::string& text) {
  const auto samples = read_sample_file(text, "s.csv", machine());
  return samples ? "accepted" : samples.error().text();
}

TEST_CASE("samples in CSV and in JSON are the same measurements") {
  const auto csv = read_sample_file(kCsv, "s.csv", machine()), json = read_sample_file(kJson, "s.json", machine());
  if (!csv) FAIL(csv.error().text());
  if (!json) FAIL(json.error().text());
  REQUIRE(csv->size() == 3);
  REQUIRE(json->size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(to_text((*csv)[i].key) == to_text((*json)[i].key));
    CHECK((*csv)[i].duration == (*json)[i].duration);
  }
  CHECK((*csv)[0].key.place == "RTX 3090");
}

TEST_CASE("what was measured elsewhere stands for the catalogue's cost of that very kernel and transfer") {
  const Platform platform = machine();
  const auto model = calibrate(*read_sample_file(kCsv, "s.csv", platform), std::make_shared<CatalogueCostModel>()).model;
  const Kernel kernel{.kind = OpKind::kLinear, .dtype = DType::kBf16, .shape = {.rows = 8192, .inputs = 768, .outputs = 3072}};
  const auto cost = model->kernel(platform.processors[0], kernel);
  REQUIRE(cost);
  CHECK(cost->median == Nanoseconds(500'000));  // the first of a key warms up and is left out
  CHECK(cost->origin == CostOrigin::kMeasured);
}

TEST_CASE("a sample that names nothing of the machine is refused with its line") {
  const std::string head = "kind,dtype,shape,seconds,place\n";
  CHECK_THAT(refusal(head + "conv,bf16,rows=1,0.1,\n"), Catch::Contains("s.csv:2") && Catch::Contains("'conv'"));
  CHECK_THAT(refusal(head + "linear,int4,rows=1,0.1,\n"), Catch::Contains("'int4'"));
  CHECK_THAT(refusal(head + "linear,bf16,rows,0.1,\n"), Catch::Contains("s.csv:2"));
  CHECK_THAT(refusal(head + "linear,bf16,rows=1,0,\n"), Catch::Contains("seconds"));
  CHECK_THAT(refusal(head + "linear,bf16,rows=1,0.1,gpu7\n"), Catch::Contains("'gpu7'") && Catch::Contains("gpu0"));
  CHECK_THAT(refusal(head + "transfer,,bytes=x,0.1,host->gpu0\n"), Catch::Contains("bytes=67108864"));
  CHECK_THAT(refusal(head + "transfer,,bytes=5,0.1,nowhere\n"), Catch::Contains("host->gpu0"));
  CHECK_THAT(refusal(head), Catch::Contains("no samples"));
  CHECK_THAT(refusal("{\"format_version\": 9, \"samples\": []}"), Catch::Contains("format_version"));
  CHECK_THAT(refusal("kind,seconds\nlinear,1\n"), Catch::Contains("dtype"));
}

}  // namespace
}  // namespace plimsoll
