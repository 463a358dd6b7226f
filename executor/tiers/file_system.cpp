#include "executor/tiers/file_system.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/error.h"

namespace plimsoll {
namespace {

struct KnownType {
  std::uint32_t type;
  std::string_view name;
};

/// Numbers from linux/magic.h and statfs(2).
constexpr std::array<KnownType, 17> kTypes{{{0xef53, "ext4"},
                                            {0x58465342, "xfs"},
                                            {0x9123683e, "btrfs"},
                                            {0xf2f52010, "f2fs"},
                                            {0x2fc12fc1, "zfs"},
                                            {0x01021994, "tmpfs"},
                                            {0x858458f6, "ramfs"},
                                            {0x958458f6, "hugetlbfs"},
                                            {0x794c7630, "overlay"},
                                            {0x6969, "nfs"},
                                            {0xff534d42, "cifs"},
                                            {0xfe534d42, "smb2"},
                                            {0x517b, "smbfs"},
                                            {0x00c36400, "ceph"},
                                            {0x0bd00bd0, "lustre"},
                                            {0x01021997, "9p"},
                                            {0x65735546, "fuse"}}};

struct KnownSort {
  std::string_view start;  ///< of the names that are of this sort
  FileSystemSort sort;
};

/// The first that fits counts. FUSE serves local drives too (ntfs-3g), so only what is known to cross a network does.
constexpr std::array<KnownSort, 26> kSorts{{{"tmpfs", FileSystemSort::kMemory},
                                            {"ramfs", FileSystemSort::kMemory},
                                            {"devtmpfs", FileSystemSort::kMemory},
                                            {"hugetlbfs", FileSystemSort::kMemory},
                                            {"overlay", FileSystemSort::kLayered},
                                            {"aufs", FileSystemSort::kLayered},
                                            {"nfs", FileSystemSort::kNetwork},
                                            {"cifs", FileSystemSort::kNetwork},
                                            {"smb", FileSystemSort::kNetwork},
                                            {"ceph", FileSystemSort::kNetwork},
                                            {"9p", FileSystemSort::kNetwork},
                                            {"afs", FileSystemSort::kNetwork},
                                            {"glusterfs", FileSystemSort::kNetwork},
                                            {"lustre", FileSystemSort::kNetwork},
                                            {"beegfs", FileSystemSort::kNetwork},
                                            {"gpfs", FileSystemSort::kNetwork},
                                            {"orangefs", FileSystemSort::kNetwork},
                                            {"fuse.sshfs", FileSystemSort::kNetwork},
                                            {"fuse.s3fs", FileSystemSort::kNetwork},
                                            {"fuse.gcsfuse", FileSystemSort::kNetwork},
                                            {"fuse.rclone", FileSystemSort::kNetwork},
                                            {"fuse.glusterfs", FileSystemSort::kNetwork},
                                            {"fuse.ceph", FileSystemSort::kNetwork},
                                            {"fuse.juicefs", FileSystemSort::kNetwork},
                                            {"virtiofs", FileSystemSort::kLayered},
                                            {"fuse", FileSystemSort::kUserSpace}}};

/// The text up to the next blank, which is taken off with it.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::string mounts_of_this_process() {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string_view FileSystem::warning() const {
  switch (sort) {
    case FileSystemSort::kDrive:
      return "";
    case FileSystemSort::kMemory:
      return "keeps its files in memory: what is put there still takes RAM";
    case FileSystemSort::kNetwork:
      return "lies across a network: its rates are the network's";
    case FileSystemSort::kLayered:
      return "is a container's or virtual machine's layer: its rates are those of whatever lies below";
    case FileSystemSort::kUserSpace:
      return "is served by a program: its rates are that program's";
  }
  return "";
}

FileSystem file_system_of_name(std::string_view name) {
  const auto known = std::find_if(kSorts.begin(), kSorts.end(),
                                  [&](const KnownSort& candidate) { return name.starts_with(candidate.start); });
  return {.name = std::string(name), .sort = known == kSorts.end() ? FileSystemSort::kDrive : known->sort, .free = {}};
}

FileSystem file_system_of_type(std::uint32_t type) {
  for (const KnownType& known : kTypes) {
    if (known.type == type) return file_system_of_name(known.name);
  }
  return {.name = fmt::format("file system {:#x}", type), .free = {}};
}

std::string_view mounted_type(std::string_view mountinfo, unsigned major, unsigned minor) {
  const std::string device = fmt::format("{}:{}", major, minor);
  while (!mountinfo.empty()) {  // "36 35 98:0 /root /mount options shared:1 - ext4 /dev/sda1 rw" (proc(5))
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    std::string_view line = mountinfo.substr(0, end);
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
    take_word(line);
    take_word(line);
    if (take_word(line) != device) continue;
    while (!line.empty() && take_word(line) != "-") {
    }
    if (const std::string_view type = take_word(line); !type.empty()) return type;
  }
  return {};
}

FileSystem file_system_of(const std::string& folder) {
  struct statfs found {};
  struct stat about {};
  if (::statfs(folder.c_str(), &found) != 0 || ::stat(folder.c_str(), &about) != 0) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("cannot be used for SSD data: {}", std::strerror(errno)),
                            .where = folder,
                            .remedy = "name another folder with --ssd-folder"});
  }
  FileSystem system = file_system_of_type(static_cast<std::uint32_t>(found.f_type));
  const std::string mounts = mounts_of_this_process();
  const std::string_view mounted = mounted_type(mounts, major(about.st_dev), minor(about.st_dev));
  if (!mounted.empty()) system = file_system_of_name(mounted);
  const bool told = found.f_blocks > 0;  // ramfs, for one, does not say how large it is
  system.free = told ? Bytes(static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_bsize))
                     : kMaxParsedBytes;
  system.read_only = (found.f_flags & ST_RDONLY) != 0;
  return system;
}

}  // namespace plimsoll
