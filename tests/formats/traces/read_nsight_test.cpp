#include "formats/traces/read_nsight.h"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "formats/runs/database.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

/// An export of an older version: fewer columns, in another order, no names of demangled form, no runtime table.
constexpr const char* kOldExport = R"(
CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (12, 'gemm'), (13, 'cudaLaunchKernel');
CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(streamId INTEGER, shortName INTEGER, "end" INTEGER, start INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (7, 12, 50, 20), (7, 99, 90, 60);
CREATE TABLE NVTX_EVENTS(start INTEGER, "end" INTEGER, eventType INTEGER, text TEXT);
INSERT INTO NVTX_EVENTS VALUES (10, 100, 59, 'step 1'), (5, NULL, 34, 'a mark');
)";

void make(const std::string& path, const std::string& sql) { Database(path, Database::Mode::kCreate).run(sql); }

std::string refusal(const std::string& path) {
  const auto read = read_nsight(path);
  REQUIRE_FALSE(read);
  CHECK(read.error().kind == ErrorKind::kInput);
  return read.error().text();
}

}  // namespace

TEST_CASE("an export with other columns in another order is read by name") {
  const TemporaryFolder folder;
  make(folder.file("old.sqlite"), kOldExport);
  const auto read = read_nsight(folder.file("old.sqlite"));
  REQUIRE(read);
  REQUIRE(read->work.size() == 2);
  CHECK(read->work[0].start.count == 20);
  CHECK(read->work[0].end.count == 50);
  CHECK(read->work[0].on.stream == 7);
  CHECK(read->names.at(read->work[0].name) == "gemm");
  CHECK(read->names.at(read->work[1].name) == "(string 99)");
  CHECK(read->calls.empty());
  REQUIRE(read->ranges.size() == 1);
  CHECK(marked_steps(*read)[0].name == "step 1");
}

TEST_CASE("a wait means the last recording of its event before it, where the export lists them") {
  const TemporaryFolder folder;
  make(folder.file("events"), R"(CREATE TABLE StringIds(id, value);
    CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, "end", syncType, streamId, correlationId, eventId);
    INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (5, 6, 2, 1, 20, 9), (1, 2, 2, 1, 5, 9);
    CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(correlationId, eventId, streamId);
    INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (10, 9, 7), (15, 9, 8), (25, 9, 3), (12, 4, 2))");
  const auto read = read_nsight(folder.file("events"));
  REQUIRE(read);
  REQUIRE(read->waits.size() == 2);
  CHECK(read->waits[0].event_stream == -1);  // nothing was recorded before call 5
  CHECK(read->waits[1].event_stream == 8);
  CHECK(read->waits[1].event_correlation == 15);
}

TEST_CASE("reading an export leaves nothing beside it") {
  const TemporaryFolder folder;
  make(folder.file("old.sqlite"), kOldExport);
  REQUIRE(read_nsight(folder.file("old.sqlite")));
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) ++files;
  CHECK(files == 1);
}

TEST_CASE("databases of another kind are refused by what they are") {
  const TemporaryFolder folder;
  make(folder.file("other"), "CREATE TABLE t(a)");
  CHECK(refusal(folder.file("other")).find("without device activity") != std::string::npos);
  make(folder.file("run"), "CREATE TABLE plans(a); CREATE TABLE step_summaries(a)");
  CHECK(refusal(folder.file("run")).find("plimsoll export RUN --nsight FILE") != std::string::npos);
  make(folder.file("nvprof"), "CREATE TABLE StringTable(a); CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(a)");
  CHECK(refusal(folder.file("nvprof")).find("nvprof") != std::string::npos);
  make(folder.file("short"), "CREATE TABLE StringIds(id, value); CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start)");
  CHECK(refusal(folder.file("short")).find("no column end, streamId") != std::string::npos);
  CHECK(refusal(folder.file("absent")).find("no such file") != std::string::npos);
  std::ofstream(folder.file("text")) << "this is no database, however long this line of text may be made to get beyond it all";
  refusal(folder.file("text"));
}

TEST_CASE("a view in the place of a table is not asked") {
  const TemporaryFolder folder;
  make(folder.file("view"), R"(CREATE TABLE StringIds(id, value);
    CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)
    SELECT start, start AS "end", 1 AS streamId, 1 AS shortName FROM n)");
  const auto read = read_nsight(folder.file("view"));
  REQUIRE(read);
  CHECK(read->work.empty());
}

TEST_CASE("numbers at the ends of 64 bits are refused or cut, never undefined") {
  const TemporaryFolder folder;
  make(folder.file("extreme"), R"(CREATE TABLE StringIds(id, value);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, "end", deviceId, contextId, streamId, bytes, copyKind);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (5, 1, 9223372036854775807, -1, -9223372036854775808, -9223372036854775808, 777))");
  const auto read = read_nsight(folder.file("extreme"));
  REQUIRE(read);
  REQUIRE(read->work.size() == 1);
  CHECK(read->work[0].end == read->work[0].start);
  CHECK(read->work[0].bytes == 0);
  CHECK(read->losses.size() == 1);
  make(folder.file("far"), R"(CREATE TABLE StringIds(id, value);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, "end", streamId);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (-9223372036854775808, 9223372036854775807, 1))");
  refusal(folder.file("far"));
}

TEST_CASE("times that are texts are refused") {
  const TemporaryFolder folder;
  make(folder.file("words"), R"(CREATE TABLE StringIds(id, value);
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, "end" INTEGER, streamId);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('5', '7', 1), ('soon', 9, 1))");  // '5' becomes 5 there
  CHECK(refusal(folder.file("words")).find("from 'soon' to '9'") != std::string::npos);
}

TEST_CASE("an export that is cut off anywhere is refused, with the byte where it ends") {
  const TemporaryFolder folder;
  make(folder.file("old.sqlite"), kOldExport);
  const auto whole = std::filesystem::file_size(folder.file("old.sqlite"));
  const auto cut_to = [&](std::uintmax_t size) {
    std::filesystem::copy_file(folder.file("old.sqlite"), folder.file("cut"), std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder.file("cut"), size);
    return refusal(folder.file("cut"));
  };
  for (std::uintmax_t size = 0; size < whole; size += 997) CHECK_FALSE(cut_to(size).empty());
  CHECK(cut_to(whole - 1).find(std::to_string(whole - 1) + " of " + std::to_string(whole)) != std::string::npos);
}

}  // namespace plimsoll::test
