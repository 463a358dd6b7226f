#include "sim/cost/cost_key.h"

#include <catch2/catch.hpp>
#include <random>

using namespace plimsoll;

namespace {

const Processor kProcessor{.name = "gpu0", .calibration_name = "RTX 2060 6GB"};

std::vector<CostKey> keys() {
  Platform platform;
  platform.name = "my machine";
  const Link link{.name = "host->gpu0"};
  return {
      kernel_key(kProcessor,
                 {.kind = OpKind::kLinear, .dtype = DType::kFp16, .shape = {.rows = 64, .inputs = 8, .outputs = 16}}),
      kernel_key(kProcessor, {.kind = OpKind::kNorm,
                              .dtype = DType::kFp32,
                              .shape = {.rows = 4, .inputs = 8, .variant = 1, .constant = 1e-5}}),
      kernel_key(kProcessor, {.kind = OpKind::kClipFactor, .dtype = DType::kFp32, .shape = {.terms = 13}}),
      kernel_key(kProcessor, {}),
      transfer_key(platform, link, 3 * kMiB),
      host_work_key(kProcessor, HostTask::kLoadTokens, Bytes(4096)),
      host_work_key(kProcessor, HostTask::kReportLoss, Bytes(0)),
      issue_key(platform, QueueKind::kHostCompute),
  };
}

}  // namespace

TEST_CASE("a cost key's text names all that decides the cost") {
  const auto all = keys();
  CHECK(to_text(all[0]) == "kernel linear fp16 rows=64 inputs=8 outputs=16 @ RTX 2060 6GB");
  CHECK(to_text(all[1]) == "kernel norm fp32 rows=4 inputs=8 variant=1 constant=1e-05 @ RTX 2060 6GB");
  CHECK(to_text(all[4]) == "transfer 3145728 @ my machine host->gpu0");
  CHECK(to_text(all[5]) == "host_work load_tokens 4096 @ RTX 2060 6GB");
  CHECK(to_text(all[7]) == "issue host_compute @ my machine");
}

TEST_CASE("parse_cost_key reads back every key, and different keys have different texts") {
  const auto all = keys();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto read = parse_cost_key(to_text(all[i]));
    REQUIRE(read);
    CHECK(*read == all[i]);
    for (std::size_t j = 0; j < i; ++j) CHECK(to_text(all[i]) != to_text(all[j]));
  }
}

TEST_CASE("parse_cost_key refuses what is no key") {
  for (const auto* text : {"", " @ ", "kernel", "kernel @ x", "kernel nothing fp32 @ x", "kernel add fp99 @ x",
                           "kernel add fp32 rows=x @ x", "kernel add fp32 rows @ x", "kernel add fp32 colour=3 @ x",
                           "transfer @ x", "transfer -1 @ x", "transfer 99999999999999999999 @ x",
                           "host_work none 3 @ x", "issue nowhere @ x", "wish 3 @ x"}) {
    INFO(text);
    const auto key = parse_cost_key(text);
    REQUIRE_FALSE(key);
    CHECK(key.error().kind == ErrorKind::kInput);
  }
}

TEST_CASE("a damaged key is refused or reads back as what its text says") {
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::string text = to_text(keys()[random() % 8]);
    text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto key = parse_cost_key(text.substr(0, random() % (text.size() + 1)));
    if (key) REQUIRE(*parse_cost_key(to_text(*key)) == *key);
  }
}
