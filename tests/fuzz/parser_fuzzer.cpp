// The entry of libFuzzer, built once for every parser with its name: parser_fuzzer_NAME tests/fuzz/corpus/NAME

#include <signal.h>
#include <sys/time.h>

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/parser.h"

namespace {

constexpr int kSlowSeconds = 5;  // of the CPU: an input that takes longer is a finding, however busy the computer is

const plimsoll::test::Parser& chosen() {
  for (const auto& parser : plimsoll::test::parsers()) {
    if (parser.name == PLIMSOLL_PARSER) return parser;
  }
  std::abort();
}

void limit_seconds(int seconds) {
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

const plimsoll::test::Parser& prepare() {
  ::signal(SIGPROF, [](int) { plimsoll::test::require(false, "reading ends soon"); });
  return chosen();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto& parser = prepare();
  limit_seconds(kSlowSeconds);
  parser.read({reinterpret_cast<const char*>(bytes), size});
  limit_seconds(0);
  return 0;
}
