#include "cli/inputs/own_drive.h"

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

TEST_CASE("a GPU's machine has the rates that were measured in the drive's folder, and says so") {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  const auto flags = with_own_drive({.ssd = "64MiB", .ssd_folder = folder.path()}, notes);
  if (!flags) FAIL(flags.error().text());
  const auto options = read_machine_options(*flags);
  REQUIRE(options);
  CHECK(*options->ssd == 64 * kMiB);
  REQUIRE(options->ssd_read_gbs);
  REQUIRE(options->ssd_write_gbs);
  CHECK(*options->ssd_read_gbs > 0);
  CHECK(*options->ssd_write_gbs > 0);
  REQUIRE(notes.size() >= 1);
  CHECK(notes.back().find("measured") != std::string::npos);
}

TEST_CASE("rates that are given stay, and without --ssd there is no drive") {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  const auto given = with_own_drive({.ssd = "64MiB:3.5,1.7", .ssd_folder = folder.path()}, notes);
  REQUIRE(given);
  CHECK(read_machine_options(*given)->ssd_write_gbs == 1.7);
  const auto none = with_own_drive({.ssd_folder = folder.path()}, notes);
  REQUIRE(none);
  CHECK(none->ssd.empty());
  CHECK(notes.empty());
}

TEST_CASE("no more of a drive is taken than what is free, and a folder that is not there is refused") {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  const auto flags = with_own_drive({.ssd = "4096TiB:3,2", .ssd_folder = folder.path()}, notes);
  REQUIRE(flags);
  CHECK(*read_machine_options(*flags)->ssd < Bytes(std::int64_t{4096} << 40));
  CHECK_FALSE(with_own_drive({.ssd = "64MiB", .ssd_folder = folder.file("missing")}, notes));
}

TEST_CASE("a drive that is to reach the device says so with every rate that it may have, and is refused where it is not there") {
  const TemporaryFolder folder;
  std::vector<std::string> notes;
  for (const char* ssd : {"64MiB:3,2", "64MiB"}) {
    const MachineFlags flags{.ssd = ssd, .ssd_folder = folder.path(), .direct_storage = true};
    const auto drive = find_own_drive(flags, *read_machine_options(flags), nullptr, notes);
    if (!drive) FAIL(drive.error().text());
    CHECK((*drive)->reaches_device);
    CHECK(with_own_drive(flags, notes)->direct_storage);
  }
  const auto none = with_own_drive({.ssd_folder = folder.path(), .direct_storage = true}, notes);
  REQUIRE_FALSE(none);
  CHECK(none.error().text().find("--ssd SIZE") != std::string::npos);
}

}  // namespace plimsoll::test
