// A library under the name of NVIDIA's cuFile that moves bytes between files and host memory.
#include "tests/executor/cuda/cufile/fake_cufile.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <string>

#include "executor/cuda/cufile_library.h"

namespace {

using plimsoll::cuda::CuFileDescriptor;
using plimsoll::cuda::CuFileStatus;

FakeCuFile state;
std::map<const std::byte*, std::size_t> registered;

/// As cuFile wants it: the base of registered memory and an offset in it, or any address.
bool find_registered(const void* base, std::size_t bytes, off_t at) {
  const auto found = registered.find(static_cast<const std::byte*>(base));
  if (found == registered.end()) return false;
  return static_cast<std::size_t>(at) + bytes <= found->second;
}

template <typename Transfer>
ssize_t transfer(const void* base, std::size_t bytes, off_t at, const Transfer& move) {
  ++state.calls;
  state.by_registered += find_registered(base, bytes, at) ? 1 : 0;
  if (state.answer <= 0) {
    errno = state.problem;
    return static_cast<ssize_t>(state.answer);
  }
  return move(state.at_most > 0 ? std::min(bytes, static_cast<std::size_t>(state.at_most)) : bytes);
}

int descriptor_of(void* handle) { return static_cast<int>(reinterpret_cast<std::intptr_t>(handle)) - 1; }

}  // namespace

extern "C" {

FakeCuFile* fake_cufile() { return &state; }

CuFileStatus cuFileDriverOpen() {
  state.drivers += state.open_code == 0 ? 1 : 0;
  return {state.open_code, 0};
}
CuFileStatus cuFileDriverClose() { return --state.drivers, CuFileStatus{0, 0}; }

CuFileStatus cuFileHandleRegister(void** handle, CuFileDescriptor* file) {
  if (state.file_code != 0) return {state.file_code, 0};
  // As cuFile 1.15 did on an H100: the flag that a file was made without a name is refused, and one that has none does not open anew.
  constexpr int kInvalidOpenFlag = 5019, kGetNewFdFailed = 5031;
  if ((::fcntl(file->file.descriptor, F_GETFL) & O_TMPFILE) == O_TMPFILE) return {kInvalidOpenFlag, 0};
  char path[4096] = {};
  if (::readlink(("/proc/self/fd/" + std::to_string(file->file.descriptor)).c_str(), path, sizeof(path) - 1) < 0 || ::access(path, R_OK | W_OK) != 0)
    return {kGetNewFdFailed, 0};
  ++state.files;
  *handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(file->file.descriptor) + 1);
  return {file->kind == 1 && file->operations == nullptr ? 0 : 5022, 0};
}
void cuFileHandleDeregister(void*) { --state.files; }

CuFileStatus cuFileBufRegister(const void* base, std::size_t bytes, int) {
  if (state.memory_code != 0) return {state.memory_code, 2};
  registered[static_cast<const std::byte*>(base)] = bytes;
  state.memories = static_cast<std::int64_t>(registered.size());
  return {0, 0};
}
CuFileStatus cuFileBufDeregister(const void* base) {
  registered.erase(static_cast<const std::byte*>(base));
  state.memories = static_cast<std::int64_t>(registered.size());
  return {0, 0};
}

ssize_t cuFileRead(void* handle, void* base, std::size_t bytes, off_t offset, off_t at) {
  return transfer(base, bytes, at, [&](std::size_t some) {
    return ::pread(descriptor_of(handle), static_cast<std::byte*>(base) + at, some, offset);
  });
}
ssize_t cuFileWrite(void* handle, const void* base, std::size_t bytes, off_t offset, off_t at) {
  return transfer(base, bytes, at, [&](std::size_t some) {
    return ::pwrite(descriptor_of(handle), static_cast<const std::byte*>(base) + at, some, offset);
  });
}
}
