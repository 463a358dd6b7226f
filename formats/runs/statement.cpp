#include "formats/runs/statement.h"

#include <sqlite3.h>

#include <limits>

namespace plimsoll {

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
  handle_.reset(handle);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) throw EnvironmentError(database_->error(code));
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(handle_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(std::uint32_t value) { return bind(std::int64_t{value}); }

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(handle_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  const char* bytes = value.data() == nullptr ? "" : value.data();  // a null pointer would bind NULL
  check(sqlite3_bind_text64(handle_.get(), ++bound_, bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  throw EnvironmentError(database_->error(code));
}

void Statement::reset() {
  sqlite3_reset(handle_.get());  // repeats the error of the last step, which has been thrown already
  bound_ = 0;
}

void Statement::run() {
  step();
  reset();
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }

double Statement::real(int column) const {
  if (sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(handle_.get(), column);
}

bool Statement::is_no_number(int column) const {
  const int type = sqlite3_column_type(handle_.get(), column);
  return type == SQLITE_TEXT || type == SQLITE_BLOB;
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(handle_.get(), column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

}  // namespace plimsoll
