#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

/// A small Llama under PyTorch; `more` is appended.
Arguments fit_llama(const Arguments& more, const Arguments& stack = {"--stack", "pytorch"}) {
  Arguments line{"fit", "llama:layers=2,hidden=256,heads=4,kv_heads=2,ffn=704,vocab=1000", "--on", "RTX 3090", "--seq", "128", "--precision", "bf16-mixed"};
  line.insert(line.end(), stack.begin(), stack.end());
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

TEST_CASE("what PEFT trains is told by its method, and what it takes follows") {
  const TemporaryFolder folder;
  const auto requested = [&](Arguments more) {
    more.push_back("--json");
    const ChildEnd end = plimsoll_in(folder, fit_llama(more));
    INFO(end.err);
    REQUIRE(end.code == 0);
    return json::parse(end.out)["memory"][0]["peak_requested_bytes"].get<std::int64_t>();
  };
  const std::int64_t lora = requested({"--lora", "8"});
  CHECK(requested({"--lora", "8", "--dora"}) > lora);
  CHECK(requested({"--peft", "dora:8"}) == requested({"--lora", "8", "--dora"}));
  CHECK(requested({"--peft", "lora:8:q,v"}) == requested({"--lora", "8:q,v"}));
  CHECK(requested({"--lora", "8", "--train-also", "embed,head"}) > lora);
  CHECK(requested({"--peft", "ia3"}) == requested({"--peft", "ia3:k,v,down"}));
  const ChildEnd norms = plimsoll_in(folder, fit_llama({"--peft", "norms"}));
  CHECK_THAT(norms.out + norms.err, Contains("0.00 M parameters are trained"));
  const ChildEnd copies = plimsoll_in(folder, fit_llama({"--lora", "8", "--train-also", "head"}));
  CHECK_THAT(copies.out + copies.err, Contains("lora of rank 8 beside q,k,v,o,gate,up,down, and a copy of the head: "));
}

TEST_CASE("a method that is typed wrongly is refused with what it takes") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& more) {
    const ChildEnd end = plimsoll_in(folder, fit_llama(more));
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refused({"--peft", "boft:8"}), Contains("'boft' is no method that is modelled") && Contains("adalora"));
  CHECK_THAT(refused({"--peft", "vera"}), Contains("says no rank") && Contains("--peft vera:16"));
  CHECK_THAT(refused({"--peft", "prompt"}), Contains("--peft prompt:20"));
  CHECK_THAT(refused({"--peft", "ia3:8"}), Contains("ia3 has no rank"));
  CHECK_THAT(refused({"--peft", "norms:q"}), Contains("stands beside no matrix"));
  CHECK_THAT(refused({"--lora", "8", "--peft", "ia3"}), Contains("both say what is trained"));
  CHECK_THAT(refused({"--peft", "ia3", "--dora"}), Contains("--dora is of low-rank adapters"));
  CHECK_THAT(refused({"--dora"}), Contains("--dora goes with --lora"));
  CHECK_THAT(refused({"--train-also", "head"}), Contains("add --lora 16"));
  CHECK_THAT(refused({"--lora", "8", "--train-also", "norms"}), Contains("choose embed, head or embed,head"));
  CHECK_THAT(refused({"--lora", "8", "--use-dora"}), Contains("--dora beside --lora"));
  CHECK_THAT(refused({"--lora", "8", "--modules-to-save", "lm_head"}), Contains("--train-also embed,head"));
}

TEST_CASE("plans of our own have no kernels for what PEFT alone trains") {
  const TemporaryFolder folder;
  const Arguments asked[] = {{"--lora", "8", "--dora"}, {"--peft", "ia3"}, {"--lora", "8", "--train-also", "head"}};
  for (const Arguments& more : asked) {
    const ChildEnd end = plimsoll_in(folder, fit_llama(more, {}));
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains("has no kernels in plans of plimsoll's own") && Contains("add --stack pytorch"));
  }
  CHECK_THAT(plimsoll_in(folder, fit_llama({"--lora", "8", "--dora"}, {"--stack", "megatron"})).err, Contains("PEFT's, which megatron does not train"));
}

}  // namespace plimsoll::test
