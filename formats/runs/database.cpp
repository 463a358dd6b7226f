#include "formats/runs/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "formats/runs/statement.h"

namespace plimsoll {
namespace {

constexpr int kBusyMilliseconds = 5000;
constexpr int kMostColumns = 200;
constexpr int kMostSqlBytes = 1 << 20;

std::string remedy_for(int primary_code) {
  switch (primary_code) {
    case SQLITE_FULL:
      return "free some disk space";
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "check that the folder exists and may be written";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return "the file is damaged or of another kind; copy it again from where it was made";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program is writing the file; wait for it to end";
    case SQLITE_IOERR:
      return "look for a quota that is used up (quota -s) and for a disk that fails (dmesg)";
    default:
      return {};
  }
}

/// What the file holds is the user's input; what the disk does is the environment.
ErrorKind kind_of(int primary_code) {
  const bool content = primary_code == SQLITE_NOTADB || primary_code == SQLITE_CORRUPT || primary_code == SQLITE_ERROR;
  return content ? ErrorKind::kInput : ErrorKind::kEnvironment;
}

/// What SQLite opens: the path, or a URI that says that the file does not change.
std::string name_for(const std::string& path, Database::Mode mode) {
  if (mode != Database::Mode::kReadUnchanging) return path;
  std::string uri = "file:";
  for (const char letter : path) {
    const bool special = letter == '%' || letter == '?' || letter == '#';
    uri += special ? fmt::format("%{:02x}", static_cast<unsigned char>(letter)) : std::string(1, letter);
  }
  return uri + "?immutable=1";
}

int flags_for(Database::Mode mode) {
  const int common = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  if (mode == Database::Mode::kCreate) return common | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  return common | SQLITE_OPEN_READONLY | (mode == Database::Mode::kReadUnchanging ? SQLITE_OPEN_URI : 0);
}

/// A file that nobody writes and that is shorter than its first page says was cut off. SQLite would take what is
/// missing for zeros. The page's size stands in bytes 16 and 17 (1: 65536), their number in 28 to 31, valid where 24 to
/// 27 equal 92 to 95 (sqlite.org/fileformat2.html, section 1.3).
void check_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, 100> head{};
  if (!file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()))) return;
  constexpr std::string_view kMagic = "SQLite format 3";
  if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0) return;  // SQLite says so itself
  const auto number = [&](std::size_t at, int bytes) {
    std::uint64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | head[at + static_cast<std::size_t>(i)];
    return value;
  };
  const std::uint64_t page = number(16, 2) == 1 ? 65536 : number(16, 2);
  const std::uint64_t wanted = page * number(28, 4);
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(path, unknown);
  if (unknown || number(24, 4) != number(92, 4) || bytes >= wanted) return;
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = fmt::format("the file is cut off at byte {} of {}", bytes, wanted),
                          .where = path,
                          .remedy = "copy it again from where it was made"});
}

}  // namespace

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::Database(const std::string& path, Mode mode) : path_(path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name_for(path, mode).c_str(), &handle, flags_for(mode), nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) throw EnvironmentError(error(code));
  if (mode != Mode::kCreate && !has_log(path)) check_whole(path);  // a checkpoint of a log writes the first page first
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
}

bool has_log(const std::string& path) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path + "-wal", failed);
  return !failed && bytes > 0;
}

void Database::restrain(Bytes longest_value) {
  sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, static_cast<int>(longest_value.count));
  sqlite3_limit(handle(), SQLITE_LIMIT_COLUMN, kMostColumns);
  sqlite3_limit(handle(), SQLITE_LIMIT_SQL_LENGTH, kMostSqlBytes);
  sqlite3_limit(handle(), SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle(), SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  run("PRAGMA cell_size_check = ON");
}

void Database::run(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw EnvironmentError(error(code));
}

bool Database::run_unless_locked(const std::string& sql) {
  const int code = sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return true;
  if ((code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED) return false;
  throw EnvironmentError(error(code));
}

std::int64_t Database::integer(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::text(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : std::string();
}

Error Database::error(int code) const {
  const int primary = code & 0xff;
  std::string detail = handle_ ? sqlite3_errmsg(handle()) : sqlite3_errstr(code);
  const int system = handle_ && primary == SQLITE_IOERR ? sqlite3_system_errno(handle()) : 0;
  if (system != 0) detail += fmt::format(": {}", std::strerror(system));
  const int told = system == EDQUOT ? SQLITE_FULL : primary;
  return {.kind = kind_of(primary), .what = detail, .where = path_, .remedy = remedy_for(told)};
}

}  // namespace plimsoll
