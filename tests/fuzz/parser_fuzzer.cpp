// The entry of libFuzzer, built once for every parser with its name: parser_fuzzer_NAME tests/fuzz/corpus/NAME

#include <cstddef>
#include <cstdint>

#include "tests/fuzz/parser.h"

namespace {

const plimsoll::test::Parser& chosen() {
  for (const auto& parser : plimsoll::test::parsers()) {
    if (parser.name == PLIMSOLL_PARSER) return parser;
  }
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto& parser = chosen();
  parser.read({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
