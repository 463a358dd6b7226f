#include "executor/tiers/file_system.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/error.h"

namespace plimsoll {
namespace {

constexpr const char* kInMemory = "keeps its files in memory: what is put there still takes RAM";
constexpr const char* kNetwork = "lies across a network: its rates are the network's";
constexpr const char* kLayered = "is a container's layer: its rates are those of whatever lies below";
constexpr const char* kUserSpace = "is served by a program: its rates are that program's";

struct KnownType {
  std::uint32_t type;
  const char* name;
  const char* warning;
};

/// Numbers from linux/magic.h and statfs(2).
constexpr std::array<KnownType, 14> kKnown{{{0xef53, "ext4", ""},
                                            {0x58465342, "xfs", ""},
                                            {0x9123683e, "btrfs", ""},
                                            {0xf2f52010, "f2fs", ""},
                                            {0x2fc12fc1, "zfs", ""},
                                            {0x01021994, "tmpfs", kInMemory},
                                            {0x858458f6, "ramfs", kInMemory},
                                            {0x794c7630, "overlay", kLayered},
                                            {0x6969, "nfs", kNetwork},
                                            {0xff534d42, "cifs", kNetwork},
                                            {0xfe534d42, "smb2", kNetwork},
                                            {0x00c36400, "ceph", kNetwork},
                                            {0x01021997, "9p", kNetwork},
                                            {0x65735546, "fuse", kUserSpace}}};

}  // namespace

FileSystem file_system_of_type(std::uint32_t type) {
  for (const KnownType& known : kKnown) {
    if (known.type == type) return {.name = known.name, .warning = known.warning, .free = {}};
  }
  return {.name = fmt::format("file system {:#x}", type), .warning = {}, .free = {}};
}

FileSystem file_system_of(const std::string& folder) {
  struct statfs found {};
  if (::statfs(folder.c_str(), &found) != 0) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = fmt::format("cannot be used for SSD data: {}", std::strerror(errno)),
                            .where = folder,
                            .remedy = "name another folder with --ssd-folder"});
  }
  FileSystem system = file_system_of_type(static_cast<std::uint32_t>(found.f_type));
  system.free = Bytes(static_cast<std::int64_t>(found.f_bavail) * static_cast<std::int64_t>(found.f_bsize));
  return system;
}

}  // namespace plimsoll
