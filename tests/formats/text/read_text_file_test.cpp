#include "formats/text/read_text_file.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

/// The most memory that this process had so far, in KiB.
long peak() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

}  // namespace

TEST_CASE("a file that is too large is refused before it is read") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("large")) << '{';
  std::filesystem::resize_file(folder.file("large"), std::uintmax_t{1} << 30);  // takes no room on the disk
  const long before = peak();
  const auto text = read_text_file(folder.file("large"), Bytes(std::int64_t{512} << 20));
  REQUIRE_FALSE(text);
  CHECK(text.error().what == "the file is larger than 512.0 MiB");
  CHECK(text.error().where == folder.file("large"));
  CHECK(peak() - before < 64 << 10);
}

TEST_CASE("a file is read up to its limit, and one whose size says 0 is read too") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("three")) << "abc";
  CHECK(read_text_file(folder.file("three"), Bytes(3)).value() == "abc");
  CHECK_FALSE(read_text_file(folder.file("three"), Bytes(2)));
  REQUIRE(std::filesystem::file_size("/proc/self/status") == 0);
  CHECK(read_text_file("/proc/self/status", Bytes(1 << 20)).value().starts_with("Name:"));
  CHECK_FALSE(read_text_file("/proc/self/status", Bytes(5)));
}

}  // namespace plimsoll::test
