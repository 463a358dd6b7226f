#pragma once

#include <cstddef>
#include <cstdint>

namespace plimsoll::test {

/// Reads the bytes as a trace file of any kind, and replays what comes out. Only the answer of a reader may say no: a crash, an
/// exception other than that, or a recording that contradicts itself ends the process.
void read_trace_bytes(const std::uint8_t* bytes, std::size_t size);

}  // namespace plimsoll::test
