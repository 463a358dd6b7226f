#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/runs/database.h"

struct sqlite3_stmt;

namespace plimsoll {

/// A prepared statement of a Database that outlives it. Every failure throws an EnvironmentError.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  /// Gives the next parameter its value, from the first one after reset(). NaN is stored as NULL.
  Statement& bind(std::int64_t value);
  Statement& bind(std::uint32_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);

  /// Moves to the next row; false when there is none.
  bool step();
  /// Makes the statement ready for new parameters.
  void reset();
  /// Runs a statement that yields no rows with the parameters bound so far, then resets.
  void run();

  [[nodiscard]] std::int64_t integer(int column) const;
  /// Whether the cell is a text or bytes, which `integer` and `real` read as 0 where they begin with no digits.
  [[nodiscard]] bool is_no_number(int column) const;
  /// NULL reads as NaN.
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void check(int code) const;

  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  int bound_ = 0;
};

}  // namespace plimsoll
