#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

using Catch::Contains;

TEST_CASE("adapters are in the model's own type where it is asked, and nobody asks where there are none") {
  const TemporaryFolder folder;
  const auto fitted = [&](Arguments more) {
    const Arguments line{"fit", "llama:layers=4,hidden=512,heads=8,ffn=1024,vocab=1000", "--on", "RTX 3090", "--stack", "pytorch", "--lora", "8",
                         "--seq", "1024", "--precision", "bf16"};
    more.insert(more.begin(), line.begin(), line.end());
    return plimsoll_in(folder, more);
  };
  CHECK_THAT(fitted({"--narrow-adapters"}).out, Contains("adapters in the model's own type"));
  CHECK(fitted({"--narrow-adapters", "--modules", "litgpt"}).code == 2);
  const ChildEnd none = plimsoll_in(folder, {"fit", "gpt2", "--on", "RTX 3090", "--stack", "pytorch", "--narrow-adapters"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Contains("--narrow-adapters would be ignored") && Contains("--lora"));
}

}  // namespace plimsoll::test
