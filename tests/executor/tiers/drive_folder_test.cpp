// Folders that SSD data cannot go to, or should not.
#include "executor/tiers/drive_folder.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "executor/tiers/drive.h"
#include "executor/tiers/locked_memory.h"
#include "tests/executor/tiers/page_memory.h"
#include "tests/support/forked.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

std::string answer(const std::string& folder, Bytes needed = {}) {
  const auto usable = check_drive_folder(folder, needed);
  return usable ? "usable: " + usable->name : usable.error().text();
}

/// Mounts a file system of `type` over the folder, in a process that alone sees it, and gives what `look` finds there.
std::optional<std::string> mounted(const std::string& folder, const char* type, const char* options,
                                   unsigned long flags, const std::function<std::string()>& look) {
  auto found = in_own_mounts([&] {
    if (::mount("none", folder.c_str(), type, 0, options) != 0) return std::string("no mount");
    if (flags != 0 && ::mount("none", folder.c_str(), nullptr, MS_REMOUNT | flags, options) != 0) {
      return std::string("no mount");
    }
    return look();
  });
  if (!found || *found == "no mount") {
    WARN("skipped: this process may not mount " << type);
    return std::nullopt;
  }
  return found;
}

}  // namespace

TEST_CASE("a folder on a drive is usable, and stays empty") {
  const TemporaryFolder folder;
  CHECK_THAT(answer(folder.path(), kMiB), Catch::StartsWith("usable: "));
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a folder that is not there, and a file, are refused by name") {
  const TemporaryFolder folder;
  std::ofstream(folder.file("file")) << "text";
  CHECK_THAT(answer("/no/such/folder"), Catch::Contains("/no/such/folder") && Catch::Contains("No such file"));
  CHECK_THAT(answer(folder.file("file")), Catch::Contains("this is a file") && Catch::Contains("--ssd-folder"));
}

TEST_CASE("a folder that is closed to the user is refused") {
  const TemporaryFolder folder;
  const auto found = in_child([&] {
    ::chmod(folder.path().c_str(), 0555);
    if (::geteuid() == 0 && ::setuid(65534) != 0) return std::string("cannot give up root");
    return answer(folder.path());
  });
  REQUIRE(found);
  CHECK_THAT(*found, Catch::Contains("SSD data cannot go here: Permission denied"));
}

TEST_CASE("a read-only mount is refused as one") {
  const TemporaryFolder folder;
  const auto found = mounted(folder.path(), "tmpfs", "size=1m", MS_RDONLY, [&] { return answer(folder.path()); });
  if (found) CHECK_THAT(*found, Catch::Contains("SSD data cannot go here: tmpfs is mounted read-only"));
}

TEST_CASE("too little room is told before anything is written: what is needed, what is free, what is missing") {
  const TemporaryFolder folder;
  // 3 MiB on a file system of 1 MiB: 2 MiB are missing.
  const auto found = mounted(folder.path(), "tmpfs", "size=1m", 0, [&] { return answer(folder.path(), 3 * kMiB); });
  if (found) CHECK_THAT(*found, Catch::Contains("needs 3.0 MiB (3145728 bytes), 1.0 MiB is free: 2.0 MiB are missing"));
}

TEST_CASE("a file system in memory is usable and named with a warning") {
  const TemporaryFolder folder;
  for (const char* type : {"tmpfs", "ramfs"}) {
    const auto found = mounted(folder.path(), type, "", 0, [&] {
      const auto usable = check_drive_folder(folder.path());
      return usable ? fmt::format("{}: {}", usable->name, usable->warning()) : usable.error().text();
    });
    if (found) CHECK(*found == std::string(type) + ": keeps its files in memory: what is put there still takes RAM");
  }
}

TEST_CASE("a file system without O_DIRECT still moves bytes, and says that it goes through the page cache") {
  const TemporaryFolder folder;
  const auto found = mounted(folder.path(), "ramfs", "", 0, [&] {
    const PageMemory memory(kMiB);
    const PageMemory back(kMiB);
    memory.fill(5);
    const std::span<std::byte> all = memory.all();
    Drive drive(2 * kMiB, true, {.folder = folder.path()});
    drive.start({&all, 1});
    drive.write(kMiB, memory.all());
    drive.read(kMiB, back.all());
    const bool same = std::equal(all.begin(), all.end(), back.all().begin());
    return (same ? "same; " : "different; ") + drive.describe();
  });
  if (found) CHECK_THAT(*found, Catch::StartsWith("same; ") && Catch::Contains("the file system refuses O_DIRECT"));
}

TEST_CASE("names of mounts tell what crosses a network, and what lies in memory") {
  const auto sort = [](const char* name) { return file_system_of_name(name).sort; };
  for (const char* name : {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "fuse.rclone", "lustre"}) {
    INFO(name);
    CHECK(sort(name) == FileSystemSort::kNetwork);
    CHECK_THAT(std::string(file_system_of_name(name).warning()), Catch::Contains("network"));
  }
  for (const char* name : {"tmpfs", "ramfs", "devtmpfs"}) CHECK(sort(name) == FileSystemSort::kMemory);
  for (const char* name : {"ext4", "xfs", "btrfs", "zfs", "f2fs"}) CHECK(sort(name) == FileSystemSort::kDrive);
  CHECK(sort("fuseblk") == FileSystemSort::kUserSpace);
}

TEST_CASE("the type of a mount is found by its device, behind any number of optional fields") {
  const std::string_view mounts =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "30 22 0:52 / /mnt/far rw shared:7 master:2 - fuse.sshfs host:/data rw,user_id=0\n"
      "31 22 0:53 / /mnt/bare rw - nfs4 server:/x rw\n";
  CHECK(mounted_type(mounts, 8, 1) == "ext4");
  CHECK(mounted_type(mounts, 0, 52) == "fuse.sshfs");
  CHECK(mounted_type(mounts, 0, 53) == "nfs4");
  CHECK(mounted_type(mounts, 9, 9).empty());
  CHECK(mounted_type("damaged 0:53", 0, 53).empty());
}

TEST_CASE("buffers beyond the locked-memory limit move unregistered, and the reason is told") {
  const TemporaryFolder folder;
  const auto found = in_child([&] {
    const rlimit limit{64 << 10, 64 << 10};
    ::setrlimit(RLIMIT_MEMLOCK, &limit);
    if (::geteuid() == 0 && ::setuid(65534) != 0) return std::string("cannot give up root");
    const auto told = locked_memory_limit();
    if (!told || *told != 64 * kKiB) return std::string("the limit is not seen");
    const PageMemory memory(kMiB);
    const std::span<std::byte> all = memory.all();
    Drive drive(kMiB, true, {.folder = "/tmp"});
    drive.start({&all, 1});
    return drive.describe();
  });
  REQUIRE(found);
  INFO(*found);
  const bool ring = found->find("io_uring") == 0;
  if (!ring) WARN("skipped: no io_uring for this user: " << *found);
  if (ring) CHECK_THAT(*found, Catch::Contains("1.0 MiB of buffers could not be registered"));
}

}  // namespace plimsoll
