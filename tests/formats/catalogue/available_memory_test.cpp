#include "formats/machines/available_memory.h"

#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "core/base/error.h"
#include "formats/machines/address_space.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kMeminfo = "MemTotal:  2000 kB\nMemAvailable:   1000 kB\n";

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("available memory is the least of the kernel's word and what control groups leave") {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  write(root / "proc/meminfo", kMeminfo);
  CHECK(available_memory(root).bytes == Bytes(1000 * 1024));
  CHECK(available_memory(root).bound == "MemAvailable");

  SECTION("version 2: the group's own limit, cache that nobody uses counted as free") {
    write(root / "proc/self/cgroup", "0::/job/step\n");
    write(root / "sys/fs/cgroup/job/step/memory.max", "500000\n");
    write(root / "sys/fs/cgroup/job/step/memory.current", "300000\n");
    write(root / "sys/fs/cgroup/job/step/memory.stat", "anon 7\ninactive_file 40000\n");
    CHECK(available_memory(root).bytes == Bytes(240000));            // 500000 − 300000 + 40000
    write(root / "sys/fs/cgroup/job/memory.max", "350000\n");  // a tighter limit above it
    write(root / "sys/fs/cgroup/job/memory.current", "340000\n");
    CHECK(available_memory(root).bytes == Bytes(10000));
    CHECK(available_memory(root).bound == "limit of the control group /job");
    write(root / "sys/fs/cgroup/job/memory.max", "max\n");
    CHECK(available_memory(root).bytes == Bytes(240000));
  }
  SECTION("version 1") {
    write(root / "proc/self/cgroup", "5:cpu:/\n4:hugetlb,memory:/box\n");
    write(root / "sys/fs/cgroup/memory/box/memory.limit_in_bytes", "9223372036854771712\n");
    write(root / "sys/fs/cgroup/memory/box/memory.usage_in_bytes", "300000\n");
    CHECK(available_memory(root).bytes == Bytes(1000 * 1024));
    write(root / "sys/fs/cgroup/memory/box/memory.limit_in_bytes", "200000\n");
    CHECK(available_memory(root).bytes == Bytes(0));  // already beyond
  }
}

TEST_CASE("a limit of address space, of which 3 pages are taken, leaves the rest") {
  const TemporaryFolder folder;
  const std::filesystem::path root = folder.path();
  write(root / "proc/meminfo", kMeminfo);
  const long page = ::sysconf(_SC_PAGESIZE);
  write(root / "proc/self/statm", "3 1 1 1 0 1 0\n");
  write(root / "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\n"
        "Max address space         unlimited            unlimited            bytes\n");
  CHECK_FALSE(address_space_left(root));
  CHECK(available_memory(root).bound == "MemAvailable");
  write(root / "proc/self/limits",
        "Max locked memory         8388608              8388608              bytes\n"
        "Max address space         500000               unlimited            bytes\n");
  CHECK(address_space_left(root) == Bytes(500000 - 3 * page));
  CHECK(available_memory(root).bytes == Bytes(500000 - 3 * page));
  CHECK(available_memory(root).bound == "limit of the address space (ulimit -v)");
  write(root / "proc/self/limits", "Max address space         1000                 unlimited            bytes\n");
  CHECK(address_space_left(root) == Bytes(0));
}

TEST_CASE("a kernel that does not say how much memory there is is an error, not a guess") {
  const TemporaryFolder folder;
  CHECK_THROWS_AS(available_memory(folder.path()), EnvironmentError);
}

}  // namespace plimsoll
