#include "tests/fuzz/changed_database.h"

#include <sqlite3.h>

#include <fstream>

#include "tests/fuzz/parser.h"

namespace plimsoll::test {
namespace {

constexpr int kStepsBetweenLooks = 100'000;

}  // namespace

std::string ChangedDatabase::after(const std::string& whole, std::string_view sql) const {
  const std::string path = folder_.file("changed.plimsoll");
  std::ofstream(path, std::ios::binary) << whole;
  sqlite3* handle = nullptr;
  require(sqlite3_open(path.c_str(), &handle) == SQLITE_OK, "the file opens");
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_progress_handler(
      handle, kStepsBetweenLooks, [](void*) { return 1; }, nullptr);
  sqlite3_exec(handle, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
  sqlite3_exec(handle, std::string(sql).c_str(), nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  return path;
}

}  // namespace plimsoll::test
