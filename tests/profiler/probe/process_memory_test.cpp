#include "profiler/probe/process_memory.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/support/temporary_folder.h"

using namespace plimsoll;

TEST_CASE("a process's own memory is what its anonymous pages and locked pages take") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("proc/self"));
  std::ofstream(folder.file("proc/self/smaps_rollup"))
      << "55d0c8a3f000-7ffe8d5c2000 ---p 00000000 00:00 0 [rollup]\nRss:    9000 kB\nPss:   8000 kB\n"
         "Anonymous:    1000 kB\nAnonHugePages:  512 kB\nLocked:     24 kB\n";
  const auto memory = process_memory(folder.path());
  REQUIRE(memory);
  CHECK(memory->anonymous == kKiB * 1000);
  CHECK(memory->locked == kKiB * 24);
}

TEST_CASE("a kernel that does not tell is no zero") {
  const TemporaryFolder folder;
  CHECK_FALSE(process_memory(folder.path()));
}

TEST_CASE("memory that is touched is seen, and memory that is only reserved is not") {
  const auto before = process_memory();
  if (!before) {
    WARN("skipped: this kernel has no smaps_rollup");
    return;
  }
  constexpr std::size_t kSize = std::size_t{64} << 20;
  std::vector<char> touched;
  touched.reserve(kSize);
  CHECK(process_memory()->anonymous - before->anonymous < 8 * kMiB);
  touched.resize(kSize, 1);
  CHECK(process_memory()->anonymous - before->anonymous > 60 * kMiB);
}
