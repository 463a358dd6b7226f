#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/quantity.h"

struct sqlite3;

namespace plimsoll {

/// An open SQLite database. Not shared between threads. Every failure throws an EnvironmentError that names the file.
class Database {
 public:
  enum class Mode : std::uint8_t { kRead, kReadUnchanging, kCreate };

  /// Opens an existing file for reading, or a new one for writing. kReadUnchanging promises that nobody writes the file,
  /// so that no companion is needed beside it.
  Database(const std::string& path, Mode mode);

  /// For a file that others may have written: its triggers, views and functions get no rights, no other file can be attached, no
  /// value is longer than `longest_value`, and cells are checked against their pages.
  void restrain(Bytes longest_value);

  /// Runs statements that yield no rows.
  void run(const std::string& sql);
  /// The same, but false when another program's lock forbids it.
  [[nodiscard]] bool run_unless_locked(const std::string& sql);
  /// The single integer that a query yields; 0 when it yields no row.
  [[nodiscard]] std::int64_t integer(const std::string& sql);
  /// The single text that a query yields.
  [[nodiscard]] std::string text(const std::string& sql);

  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The error for a result code of SQLite, in words for the user.
  [[nodiscard]] Error error(int code) const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };

  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Whether a writer left what it had committed beside the file: the file alone may then be short of pages.
bool has_log(const std::string& path);

}  // namespace plimsoll
