#include "executor/cuda/cufile_io.h"

#include <catch2/catch.hpp>
#include <dlfcn.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/plan/plan.h"
#include "executor/cpu/arena.h"
#include "tests/executor/cuda/cufile/fake_cufile.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;

constexpr Bytes kBlock = kStorageAlignment;

/// The library is loaded by its name, as cuFile would be; one of that name is loaded already.
FakeCuFile& fresh_fake() {
  static void* const library = ::dlopen(PLIMSOLL_FAKE_CUFILE, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) FAIL(::dlerror());
  FakeCuFile& fake = *reinterpret_cast<FakeCuFileFunction>(::dlsym(library, "fake_cufile"))();
  fake = {};
  return fake;
}

std::span<std::byte> blocks(const HostArena& arena, std::int64_t first, std::int64_t count) {
  return {arena.data() + first * kBlock.count, static_cast<std::size_t>(count * kBlock.count)};
}

void number_blocks(const HostArena& arena) {
  for (std::int64_t b = 0; b < arena.size().count / kBlock.count; ++b) std::memset(blocks(arena, b, 1).data(), static_cast<int>(b + 1), static_cast<std::size_t>(kBlock.count));
}

/// What the call throws.
template <typename Call>
std::string trouble(const Call& call) {
  try {
    call();
  } catch (const EnvironmentError& error) {
    return error.error().text();
  }
  return {};
}

}  // namespace

TEST_CASE("bytes pass between a file and pieces of memory, each call within one registered piece") {
  FakeCuFile& fake = fresh_fake();
  const TemporaryFolder folder;
  int used = 0;
  {
    const DriveFile file(folder.path(), kBlock * 8, true);
    const HostArena memory(kBlock * 8);
    number_blocks(memory);
    // Blocks 1 to 2 and 3 to 5 are registered; the transfer of blocks 0 to 7 has the parts 0, 1-2, 3-5 and 6-7.
    const std::span<std::byte> pieces[] = {blocks(memory, 3, 3), blocks(memory, 1, 2)};
    cuda::CuFileIo io(cuda::CuFileLibrary::open(), file, pieces, [&used] { ++used; });
    CHECK(fake.memories == 2);
    io.write(Bytes(0), blocks(memory, 0, 8), {});
    CHECK(fake.calls == 4);
    CHECK(fake.by_registered == 2);
    const HostArena back(kBlock * 8);
    fake.at_most = kBlock.count;  // one block a call
    fake.calls = 0;
    io.read(kBlock * 2, blocks(back, 0, 6), {});
    CHECK(fake.calls == 6);
    CHECK(std::memcmp(back.data(), memory.data() + 2 * kBlock.count, static_cast<std::size_t>(6 * kBlock.count)) == 0);
    io.read(kBlock * 7, blocks(memory, 4, 1), {});  // into the middle of a piece
    CHECK(memory.data()[4 * kBlock.count] == std::byte{8});
    CHECK(memory.data()[3 * kBlock.count] == std::byte{4});
    CHECK(used >= 4);  // the device was made each caller's
  }
  CHECK(fake.memories == 0);
  CHECK(fake.files == 0);
  CHECK(fake.drivers == 0);
}

TEST_CASE("a file is named for cuFile alone and once, and is reached after its memory changed") {
  FakeCuFile& fake = fresh_fake();
  const TemporaryFolder folder;
  {
    const DriveFile file(folder.path(), kBlock * 2, true);
    const HostArena memory(kBlock * 2);
    number_blocks(memory);
    const auto library = cuda::CuFileLibrary::open();
    cuda::CuFileIo(library, file, {}, [] {}).write(Bytes(0), blocks(memory, 0, 2), {});
    CHECK(std::filesystem::is_empty(folder.path()));
    cuda::CuFileIo(library, file, {}, [] {}).read(kBlock, blocks(memory, 0, 1), {});
    CHECK(memory.data()[0] == std::byte{2});
    CHECK(fake.files == 1);
  }
  CHECK(fake.files == 0);
}

TEST_CASE("memory that cuFile has no room to register is reached all the same, and the name says so") {
  FakeCuFile& fake = fresh_fake();
  fake.memory_code = 5036;
  const TemporaryFolder folder;
  const DriveFile file(folder.path(), kBlock * 2, true);
  const HostArena memory(kBlock * 2);
  number_blocks(memory);
  const std::span<std::byte> piece = blocks(memory, 0, 2);
  cuda::CuFileIo io(cuda::CuFileLibrary::open(), file, {&piece, 1}, [] {});
  CHECK_THAT(io.name(), Contains("in part unregistered (code 5036, CUDA driver's 2)"));
  io.write(Bytes(0), piece, {});
  CHECK(fake.by_registered == 0);
  io.read(kBlock, blocks(memory, 0, 1), {});
  CHECK(memory.data()[0] == std::byte{2});
}

TEST_CASE("a driver that does not open and a file that is not taken are refused with what to do without") {
  FakeCuFile& fake = fresh_fake();
  const TemporaryFolder folder;
  const DriveFile file(folder.path(), kBlock, true);
  fake.open_code = 5001;
  CHECK_THAT(trouble([] { cuda::CuFileLibrary::open(); }), Contains("code 5001") && Contains("leave --direct-storage out") && Contains("gdscheck"));
  CHECK(fake.drivers == 0);
  fake.open_code = 0;
  fake.file_code = 5008;
  const auto library = cuda::CuFileLibrary::open();
  CHECK_THAT(trouble([&] { cuda::CuFileIo(library, file, {}, [] {}); }), Contains("code 5008") && Contains(folder.path()) && Contains("--ssd-folder"));
}

TEST_CASE("a transfer that fails says cuFile's code or the kernel's reason, and none is taken for whole that is not") {
  FakeCuFile& fake = fresh_fake();
  const TemporaryFolder folder;
  const DriveFile file(folder.path(), kBlock * 2, true);
  const HostArena memory(kBlock * 2);
  cuda::CuFileIo io(cuda::CuFileLibrary::open(), file, {}, [] {});
  const auto reading = [&] { return trouble([&] { io.read(Bytes(0), blocks(memory, 0, 2), {}); }); };
  const auto writing = [&] { return trouble([&] { io.write(Bytes(0), blocks(memory, 0, 2), {}); }); };
  fake.answer = -5030;
  CHECK_THAT(reading(), Contains("code 5030"));
  fake.answer = -1;
  fake.problem = ENOSPC;
  CHECK_THAT(writing(), Contains(std::strerror(ENOSPC)));
  fake.answer = 0;
  CHECK_THAT(reading(), Contains("ends too early"));
  fake.answer = 1;
  fake.at_most = 512;
  CHECK_THAT(reading(), Contains("512 bytes, which are no whole blocks"));
}

}  // namespace plimsoll::test
