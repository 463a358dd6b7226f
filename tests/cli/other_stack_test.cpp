#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {

namespace {

using nlohmann::json;

Arguments fit_under(const Arguments& more) {
  Arguments line{"fit", "gpt2", "--on", "RTX 3090"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

}  // namespace

TEST_CASE("another stack's answer has five memory numbers and says where the peak is") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, fit_under({"--stack", "pytorch", "--batch", "4", "--json"}));
  CHECK(end.code == 0);
  const json answer = json::parse(end.out);
  CHECK(answer["stack"] == "pytorch");
  const json memory = answer["memory"][0];
  CHECK(memory["peak_requested_bytes"] <= memory["peak_allocated_bytes"]);
  CHECK(memory["peak_allocated_bytes"] <= memory["peak_reserved_bytes"]);
  CHECK(memory["peak_reserved_bytes"] < memory["peak_process_bytes"]);
  CHECK(memory["peak_process_bytes"] <= memory["peak_device_bytes"]);
  CHECK_FALSE(memory["peak_at"].get<std::string>().empty());
}

TEST_CASE("what does not fit under another stack ends with 3 and says what is short") {
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, fit_under({"--stack", "pytorch", "--batch", "64"}));
  CHECK(end.code == 3);
  CHECK_THAT(end.out, Catch::Contains("DOES NOT FIT") && Catch::Contains("short by"));
}

TEST_CASE("options of one kind of stack are refused beside another, not ignored") {
  const TemporaryFolder folder;
  using Catch::Contains;
  const auto refused = [&](const Arguments& more, const std::string& name) {
    const ChildEnd end = plimsoll_in(folder, fit_under(more));
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains(name));
  };
  refused({"--compile"}, "--compile");
  refused({"--recompute", "full"}, "--recompute");
  refused({"--zero", "3"}, "--zero");
  refused({"--stack", "pytorch", "--strategy", "stream"}, "stream");
  refused({"--stack", "tensorflow"}, "tensorflow");
  refused({"--stack", "pytorch", "--recompute", "every:0"}, "every:0");
  refused({"--stack", "llm.c", "--lora", "8"}, "llm.c");
  const ChildEnd nowhere = plimsoll_in(folder, {"fit", "gpt2", "--stack", "pytorch"});
  CHECK(nowhere.code == 2);
  CHECK_THAT(nowhere.err, Contains("--on"));
}

}  // namespace plimsoll::test
