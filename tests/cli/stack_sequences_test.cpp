#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;

/// What every case asks of eight GPUs that share a sequence.
void shared_and_said(const Arguments& stack, const char* way, const Catch::Matchers::Impl::MatcherBase<std::string>& says) {
  const TemporaryFolder folder;
  for (const bool says_how : {false, true}) {
    Arguments all{"fit", "llama-3.2-1b", "--on", "H100 SXM5 80GB", "--zero", "3", "--cp", "8", "--seq", "65536", "--recompute", "full"};
    all.insert(all.end(), stack.begin(), stack.end());
    if (says_how) all.insert(all.end(), {"--context", way});
    const ChildEnd end = plimsoll_in(folder, all);
    CHECK(end.code == 0);
    INFO(end.out);
    CHECK(says.match(end.out));
  }
}

}  // namespace

TEST_CASE("ranks share a sequence under DeepSpeed, and say how or not") {
  shared_and_said({"--stack", "deepspeed"}, "ulysses", Contains("sequences shared by 8 GPUs") && Contains("no such run was measured"));
}

TEST_CASE("ranks share a sequence in a ring under PyTorch, and say how or not") {
  shared_and_said({"--stack", "pytorch"}, "ring",
                  Contains("sequences shared by 8 GPUs, ZeRO-3 over 8 GPUs, sequence ranks among them") && Contains("shared by ring attention") && Contains("attention is cuDNN's"));
}

TEST_CASE("sequences of varying length come from a range or a file") {
  const TemporaryFolder folder;
  write_file(folder.file("tokens.txt"), "40\n900\n7\n1500\n");
  write_file(folder.file("words.txt"), "forty\n");
  const auto fitted = [&](const std::string& lengths) {
    return plimsoll_in(folder, {"fit", "gpt2", "--on", "RTX 3090", "--stack", "pytorch", "--batch", "2", "--seq", "1024", "--lengths", lengths});
  };
  for (const char* lengths : {"1024..1024", "16..1024", "tokens.txt"}) {
    const ChildEnd end = fitted(lengths);
    CHECK(end.code == 0);
    CHECK_THAT(end.out, Contains("64 micro-batches were simulated"));
  }
  CHECK_THAT(fitted("1..512").err + fitted("1..512").out, Contains("add --seq 512"));
  CHECK_THAT(fitted("words.txt").err + fitted("words.txt").out, Contains("forty"));
  CHECK_THAT(fitted("none.txt").err + fitted("none.txt").out, Contains("none.txt"));
}

TEST_CASE("sequences of varying length are packed where it is asked for") {
  const TemporaryFolder folder;
  write_file(folder.file("tokens.txt"), "100\n300\n");
  const ChildEnd end = plimsoll_in(folder, {"fit", "llama-3.2-1b", "--on", "RTX 4090", "--stack", "pytorch", "--lengths", "tokens.txt", "--packing", "--seq", "4096"});
  CHECK_THAT(end.out, Contains("packed documents") && Contains("stands in one of 250 tokens") && Contains("flash attention"));
}

}  // namespace plimsoll::test
