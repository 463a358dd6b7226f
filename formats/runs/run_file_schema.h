#pragma once

#include "core/base/result.h"
#include "formats/runs/database.h"

namespace plimsoll {

/// SQLite's application_id of a run file: "Plim".
inline constexpr std::int64_t kRunFileApplicationId = 0x506c696d;
/// The user_version that this program writes and the newest that it reads.
inline constexpr std::int64_t kRunFileVersion = 1;

/// Makes the tables and views of an empty database, or brings those of an older version up to date.
void migrate(Database& database);

/// Refuses a database that is no run file, or one of a newer version.
Result<void> check_version(Database& database);

/// Refuses a run file whose tables are not those that `migrate` makes: a view or a computed column in the place of a table could
/// keep a reader busy without end. Further tables beside them may be there.
Result<void> check_tables(Database& database);

}  // namespace plimsoll
