#include "formats/plans/chain_json.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

const std::string kOption = R"({"forward_seconds": 1.5, "backward_seconds": 2, "saved_bytes": 7,
                                "forward_temporary_bytes": 1, "backward_temporary_bytes": 3})";

std::string chain_of(const std::string& options, const std::string& more = "") {
  return R"({"format_version": 1, "output_bytes": 4)" + more +
         R"(, "blocks": [{"input_bytes": "1KiB", "forward_only_seconds": 0.5,
            "forward_only_temporary_bytes": 2, "options": [)" +
         options + "]}]}";
}

std::string refusal(const std::string& text) {
  const auto chain = read_chain(text, "c.json");
  REQUIRE_FALSE(chain);
  return chain.error().text();
}

}  // namespace

TEST_CASE("read_chain reads every time and size of a block") {
  const auto chain = read_chain(chain_of(kOption), "c.json");
  REQUIRE(chain);
  CHECK(chain->output == Bytes(4));
  REQUIRE(chain->blocks.size() == 1);
  const ChainBlock& block = chain->blocks[0];
  CHECK(block.input == Bytes(1024));
  CHECK(block.forward_only_seconds == 0.5);
  CHECK(block.forward_only_temporary == Bytes(2));
  REQUIRE(block.options.size() == 1);
  CHECK(block.options[0].forward_seconds == 1.5);
  CHECK(block.options[0].backward_seconds == 2);
  CHECK(block.options[0].saved == Bytes(7));
  CHECK(block.options[0].forward_temporary == Bytes(1));
  CHECK(block.options[0].backward_temporary == Bytes(3));
  CHECK(chain->boundary(0) == Bytes(1024));
  CHECK(chain->boundary(1) == Bytes(4));
}

TEST_CASE("read_chain's errors name the file and the key") {
  using Catch::Contains;
  CHECK_THAT(refusal("{"), Contains("c.json"));
  CHECK_THAT(refusal(R"({"format_version": 1, "output_bytes": 4, "blocks": []})"),
             Contains("c.json at /blocks: a chain without"));
  CHECK_THAT(refusal(R"({"format_version": 1, "blocks": []})"), Contains("\"output_bytes\" is missing"));
  CHECK_THAT(refusal(R"({"format_version": 2, "output_bytes": 4, "blocks": []})"), Contains("/format_version"));
  CHECK_THAT(refusal(chain_of("")), Contains("/blocks/0/options: a block without options"));
  CHECK_THAT(refusal(chain_of(R"({"forward_seconds": 1})")), Contains("c.json at /blocks/0/options/0"));
  CHECK_THAT(refusal(chain_of(kOption, R"(, "budget": 3)")), Contains("unknown key \"budget\""));
  std::string negative = kOption;
  negative.replace(negative.find("1.5"), 3, "-1");
  CHECK_THAT(refusal(chain_of(negative)), Contains("/blocks/0/options/0/forward_seconds"));
  std::string huge = kOption;
  huge.replace(huge.find("7,"), 2, "1152921504606846976,");
  CHECK_THAT(refusal(chain_of(huge)), Contains("more than an exbibyte"));
}

TEST_CASE("a schedule is written entry by entry") {
  const ChainSchedule schedule{{ChainWork::kCheckpoint, ChainBlockId(0)},
                               {ChainWork::kPass, ChainBlockId(1)},
                               {ChainWork::kSave, ChainBlockId(2), 1},
                               {ChainWork::kBackward, ChainBlockId(2)}};
  CHECK(chain_schedule_json(schedule) == R"(["checkpoint 0", "pass 1", "save 2 by option 1", "backward 2"])");
}
