// The entry of libFuzzer: clang++ builds it (cmake -DCMAKE_CXX_COMPILER=clang++ -DPLIMSOLL_WITH_FUZZERS=ON); run it on a folder
// of traces.

#include "tests/fuzz/read_trace_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  plimsoll::test::read_trace_bytes(bytes, size);
  return 0;
}
