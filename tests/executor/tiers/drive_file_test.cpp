#include "executor/tiers/drive_file.h"

#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "core/base/error.h"
#include "executor/tiers/drive_rates.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

bool is_empty(const TemporaryFolder& folder) { return std::filesystem::is_empty(folder.path()); }

/// Runs `work` in a child process and returns its exit status as waitpid tells it.
template <typename Work>
int status_of_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("the file has its room from the start and no name at any time") {
  const TemporaryFolder folder;
  const DriveFile file(folder.path(), 64 * kMiB, true);
  CHECK(is_empty(folder));
  CHECK(file.size() == 64 * kMiB);
  struct stat found {};
  REQUIRE(::fstat(file.descriptor(), &found) == 0);
  CHECK(found.st_nlink == 0);
  CHECK(Bytes(found.st_blocks * 512) >= 64 * kMiB);
}

TEST_CASE("a file that changes its length keeps what both lengths hold, has its room, and gives it back") {
  const TemporaryFolder folder;
  DriveFile file(folder.path(), kMiB, false);
  const std::string written = "what a step left";
  REQUIRE(::pwrite(file.descriptor(), written.data(), written.size(), 4096) == static_cast<ssize_t>(written.size()));
  for (const Bytes size : {16 * kMiB, 2 * kMiB}) {
    file.resize(size, true);
    CHECK(file.size() == size);
    struct stat found {};
    REQUIRE(::fstat(file.descriptor(), &found) == 0);
    CHECK(Bytes(found.st_size) == size);
    CHECK(Bytes(found.st_blocks * 512) >= size);
    CHECK(Bytes(found.st_blocks * 512) < size + kMiB);
  }
  file.resize(3 * kMiB, false);
  std::string read(written.size(), ' ');
  REQUIRE(::pread(file.descriptor(), read.data(), read.size(), 4096) == static_cast<ssize_t>(read.size()));
  CHECK(read == written);
  CHECK_THROWS_AS(file.resize(Bytes(file_system_of(folder.path()).free.count * 2), true), EnvironmentError);
  CHECK(file.size() == 3 * kMiB);
}

TEST_CASE("no file is left when the owner is killed") {
  const TemporaryFolder folder;
  const int status = status_of_child([&] {
    const DriveFile file(folder.path(), kMiB, true);
    ::kill(::getpid(), SIGKILL);
  });
  CHECK(WIFSIGNALED(status));
  CHECK(is_empty(folder));
}

TEST_CASE("too little room is told with what is needed and what is free, and leaves nothing") {
  const TemporaryFolder folder;
  const Bytes free = file_system_of(folder.path()).free;
  CHECK_THROWS_WITH(DriveFile(folder.path(), free + kGiB, true),
                    Catch::Contains("is free") && Catch::Contains(to_text(free + kGiB)));
  CHECK(is_empty(folder));
}

TEST_CASE("a limit on file sizes is told in words before the signal that it would raise") {
  const TemporaryFolder folder;
  const int status = status_of_child([&] {
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      const DriveFile file(folder.path(), 2 * kMiB, true);
    } catch (const EnvironmentError& error) {
      ::_exit(error.error().what.find("1.0 MiB at most") != std::string::npos ? 7 : 8);
    }
  });
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a folder that is not there is refused by name") {
  CHECK_THROWS_WITH(DriveFile("/no/such/folder", kMiB, true), Catch::Contains("/no/such/folder"));
  CHECK_FALSE(measure_drive_rates({.folder = "/no/such/folder"}));
}

TEST_CASE("file systems that are no drives are named with a warning") {
  CHECK(file_system_of_type(0xef53).name == "ext4");
  CHECK(file_system_of_type(0xef53).warning().empty());
  CHECK(file_system_of_type(0x01021994).name == "tmpfs");
  CHECK_THAT(std::string(file_system_of_type(0x01021994).warning()), Catch::Contains("memory"));
  CHECK_THAT(std::string(file_system_of_type(0x6969).warning()), Catch::Contains("network"));
  CHECK_THAT(std::string(file_system_of_type(0x794c7630).warning()), Catch::Contains("layer"));
  CHECK(file_system_of_type(0x12345).name == "file system 0x12345");
}

TEST_CASE("the rates of a folder's drive are measured and say how") {
  const TemporaryFolder folder;
  const auto rates = measure_drive_rates({.folder = folder.path()});
  REQUIRE(rates);
  for (const Spread& rate : {rates->read, rates->write}) {
    CHECK(rate.low > 0);
    CHECK(rate.low <= rate.median);
    CHECK(rate.median <= rate.high);
  }
  CHECK(rates->mixed_read.samples == 0);
  CHECK(rates->measured > Bytes(0));
  CHECK_THAT(rates->way, Catch::Contains(file_system_of(folder.path()).name));
  CHECK(is_empty(folder));
}

TEST_CASE("a drive is measured in both directions at once too, after what was asked to be written first") {
  const TemporaryFolder folder;
  const auto rates =
      measure_drive_rates({.folder = folder.path()}, {.span = 64 * kMiB, .fill = 128 * kMiB, .mixed = true});
  REQUIRE(rates);
  CHECK(rates->filled == 128 * kMiB);
  CHECK(rates->mixed_read.low > 0);
  CHECK(rates->mixed_write.low > 0);
  CHECK(is_empty(folder));
}

}  // namespace plimsoll
