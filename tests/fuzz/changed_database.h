#pragma once

#include <string>
#include <string_view>

#include "tests/support/temporary_folder.h"

namespace plimsoll::test {

/// A database file in which somebody changed rows or tables.
class ChangedDatabase {
 public:
  /// The file's path: `whole` with `sql` carried out on it, as far as that is SQL and ends soon.
  [[nodiscard]] std::string after(const std::string& whole, std::string_view sql) const;

 private:
  TemporaryFolder folder_;
};

}  // namespace plimsoll::test
