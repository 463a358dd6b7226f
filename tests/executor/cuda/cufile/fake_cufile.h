#pragma once

#include <cstdint>

/// What the library that plays cuFile is told to do, and what it saw; its memory is the host's.
struct FakeCuFile {
  int open_code = 0, file_code = 0, memory_code = 0;  ///< answers of opening the driver, registering a file, registering memory
  std::int64_t at_most = 0;    ///< bytes that one call moves; 0: all
  std::int64_t answer = 1;     ///< of a transfer, where it is not positive
  int problem = 0;             ///< errno with it
  std::int64_t drivers = 0, files = 0, memories = 0;  ///< open or registered now
  std::int64_t calls = 0;      ///< of transfers
  std::int64_t by_registered = 0;  ///< those whose base is registered memory
};
using FakeCuFileFunction = FakeCuFile* (*)();
