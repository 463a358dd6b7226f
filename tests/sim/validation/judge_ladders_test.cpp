#include "sim/validation/judge_ladders.h"

#include <catch2/catch.hpp>

#include "formats/published/published_rows.h"

using namespace plimsoll;

namespace {

const std::string kHeader =
    "system,model,params,layers,hidden,heads,kv_heads,ffn,vocab,seq,micro_batch,precision,optimizer,checkpointing,zero_"
    "stage,"
    "offload,n_gpu,gpu,metric,value,unit,source,flag,notes\n";

std::string rung(const std::string& system, const std::string& offload, const std::string& metric,
                 const std::string& cap) {
  return "experts4bit QLoRA " + system + ",OLMoE-1B-7B-0924,,16,2048,,,1024,50304,,1,bf16,none,full,0," + offload +
         ",1,RTX A2000 12GB," + metric + "," + cap + ",MiB host-RAM cap,x,,\n";
}

LadderReport judged(const std::string& rows, std::string_view family = {}) {
  const auto read = read_published_rows(kHeader + rows, "rows.csv");
  REQUIRE(read.has_value());
  return judge_ladders(*read, *shipped_ladder_rules(), family);
}

}  // namespace

TEST_CASE("rungs that differ in their cap alone are one ladder, whose bracket is the nearest pair of ends") {
  const std::string host = "host-RAM expert offload";
  // 16 layers of 226 492 416 B, all powers of two (3 623 878 656); buffers that stay: 2^28 of the embedding, 2^23 of a
  // square matrix, 2^22 of an expert's, 2^18 of the router; 881 + 1208 MB of the program: 5 994 159 360 B, 5716 MiB.
  const auto report = judged(rung(host, "cpu", "fits", "8192") + rung(host, "cpu", "oom", "4096") +
                             rung(host, "cpu", "fits", "6144") + rung(host, "cpu", "oom", "5632"));
  REQUIRE(report.ladders.size() == 1);
  const LadderOutcome& ladder = report.ladders.front();
  CHECK(ladder.need == Bytes(3'623'878'656 + (1 << 28) + (1 << 23) + (1 << 22) + (1 << 18) + 2'089'000'000));
  CHECK(ladder.failed == 5632 * kMiB);
  CHECK(ladder.ran == 6144 * kMiB);
  CHECK(ladder.off() == 0);
  CHECK(ladder.rungs == 4);
  CHECK(ladder.right == 4);
}

TEST_CASE("a need outside of the bracket is told by its distance from the nearer end, with its sign") {
  const std::string host = "host-RAM expert offload";
  const auto low = judged(rung(host, "cpu", "fits", "7168") + rung(host, "cpu", "oom", "6144"));
  CHECK(low.ladders.front().off() == Approx(5994159360.0 / (6144.0 * 1048576) - 1).epsilon(1e-3));
  CHECK(low.ladders.front().right == 1);
  const auto high = judged(rung(host, "cpu", "fits", "5120"));
  CHECK(high.ladders.front().off() > 0.1);
  const auto groups = summarize_ladders({low.ladders.front(), high.ladders.front()});
  REQUIRE(groups.size() == 2);
  CHECK(groups.front().measure == Measure::kLadder);
  CHECK(groups.front().all.count == 2);
  CHECK(groups.front().all.worst == Approx(high.ladders.front().off()));
  CHECK(groups.back().family == "experts4bit");
  CHECK(summarize_ladders({}).empty());
}

TEST_CASE(
    "rows in host memory make another ladder of the same model, and a rung that cannot be read is told with its "
    "place") {
  const std::string drive = "NVMe expert arena";
  const auto report = judged(rung(drive, "nvme (hot_rows=64; arena 3.6 GB)", "fits", "2304") +
                             rung(drive, "nvme (hot_rows=128; arena 3.6 GB)", "fits", "4096") +
                             rung(drive, "nvme (hot_rows=64; arena 3.6 GB)", "peak", "2304"));
  REQUIRE(report.ladders.size() == 2);
  // 64 rows of 3 538 944 B take the 2^28 that the embedding's buffer left; 128 rows take 2^29.
  CHECK(report.ladders[1].need - report.ladders[0].need == Bytes(1 << 29));
  REQUIRE(report.refusals.size() == 1);
  CHECK(report.refusals.front().find("rows.csv:4") == 0);
  CHECK(judged(rung(drive, "nvme", "fits", "2304"), "nobody").ladders.empty());
}

TEST_CASE(
    "the shipped rungs make seven ladders of which five needs lie in their brackets, the others less than 5 % below") {
  const auto report = judge_ladders(*shipped_published_rows(), *shipped_ladder_rules(), {});
  CHECK(report.refusals.empty());
  REQUIRE(report.ladders.size() == 7);
  std::int64_t inside = 0;
  for (const LadderOutcome& ladder : report.ladders) {
    INFO(ladder.ladder << " " << ladder.off());
    if (ladder.off() == 0) ++inside;
    CHECK(ladder.off() <= 0);
    CHECK(ladder.off() > -0.05);
  }
  CHECK(inside == 5);
}
