#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "profiler/decode/spool_reader.h"
#include "tests/support/built_spool.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

std::vector<SpoolRecord> records_of(const std::string& path, SpoolSummary* summary = nullptr) {
  std::vector<SpoolRecord> records;
  const auto read = read_spool(path, [&](const SpoolRecord& record) { records.push_back(record); });
  REQUIRE(read);
  if (summary != nullptr) *summary = *read;
  return records;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// Three blocks of one reading each, with the free bytes 1, 2, 3.
void write_three_blocks(const std::string& path) {
  SpoolWriter spool(path, {.process = 1, .started = 2});
  for (std::uint64_t free = 1; free <= 3; ++free) {
    spool.add(ReadingRecord{.free = free});
    spool.flush();
  }
}

}  // namespace

TEST_CASE("a spool gives back what was written, in its order") {
  const TemporaryFolder folder;
  write_small_spool(folder.file("a.spool"));
  SpoolSummary summary;
  const auto records = records_of(folder.file("a.spool"), &summary);
  CHECK(summary.closed);
  CHECK(summary.cut_bytes == 0);
  CHECK(summary.header.process == kBuiltProcess);
  CHECK(summary.records == records.size());
  REQUIRE(std::holds_alternative<EndRecord>(records.back()));
  CHECK(std::get<EndRecord>(records.back()).records == records.size() - 1);
  std::size_t kernels = 0;
  for (const SpoolRecord& record : records) {
    if (const auto* kernel = std::get_if<KernelRecord>(&record)) {
      ++kernels;
      CHECK(kernel->grid[0] == 30);
      CHECK(kernel->registers == 40);
    }
  }
  CHECK(kernels == 2);
}

TEST_CASE("cut anywhere, a spool gives its whole blocks and says that something is missing") {
  const TemporaryFolder folder;
  write_three_blocks(folder.file("whole"));
  const std::string bytes = bytes_of(folder.file("whole"));
  // Header 40; three blocks of 24 + 4 + 32 = 60; an end of 24 + 4 + 8 = 36.
  REQUIRE(bytes.size() == 40 + 3 * 60 + 36);
  for (std::size_t length = 40; length < bytes.size(); ++length) {
    write_bytes(folder.file("cut"), bytes.substr(0, length));
    SpoolSummary summary;
    const auto records = records_of(folder.file("cut"), &summary);
    CHECK(records.size() == (length - 40) / 60);
    CHECK_FALSE(summary.closed);
    CHECK(summary.cut_bytes == (length - 40) % 60);
    CHECK(summary.trouble.empty() == (summary.cut_bytes == 0));
  }
  for (const std::size_t length : {0, 1, 39}) {
    write_bytes(folder.file("cut"), bytes.substr(0, length));
    CHECK_FALSE(read_spool(folder.file("cut"), [](const SpoolRecord&) {}));
  }
}

TEST_CASE("a changed byte of a spool never passes as a record") {
  const TemporaryFolder folder;
  write_three_blocks(folder.file("whole"));
  const std::string bytes = bytes_of(folder.file("whole"));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    write_bytes(folder.file("changed"), changed);
    std::vector<std::uint64_t> free;
    const auto summary = read_spool(folder.file("changed"), [&](const SpoolRecord& record) {
      if (const auto* reading = std::get_if<ReadingRecord>(&record)) free.push_back(reading->free);
    });
    INFO("byte " << at);
    if (at < 40) {
      CHECK_FALSE(summary);
      continue;
    }
    REQUIRE(summary);
    CHECK(free.size() == std::min<std::size_t>(3, (at - 40) / 60));
    for (std::size_t i = 0; i < free.size(); ++i) CHECK(free[i] == i + 1);
    CHECK_FALSE(summary->trouble.empty());
  }
}

TEST_CASE("threads that write one spool lose nothing") {
  const TemporaryFolder folder;
  constexpr std::uint64_t kEach = 20'000;
  {
    SpoolWriter spool(folder.file("many"), {.process = 1});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&spool] {
        for (std::uint64_t i = 0; i < kEach; ++i) spool.add(ReadingRecord{.free = i});
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::uint64_t count = 0, sum = 0;
  const auto summary = read_spool(folder.file("many"), [&](const SpoolRecord& record) {
    if (const auto* reading = std::get_if<ReadingRecord>(&record)) {
      ++count;
      sum += reading->free;
    }
  });
  REQUIRE(summary);
  CHECK(summary->blocks > 4);
  CHECK(count == 4 * kEach);
  CHECK(sum == 4 * (kEach * (kEach - 1) / 2));
}

TEST_CASE("a spool that cannot be made takes records in silence") {
  SpoolWriter spool("/nonexistent/folder/a.spool", {});
  CHECK_FALSE(spool.ok());
  spool.add(ReadingRecord{});
  spool.close();
}

}  // namespace plimsoll::test
