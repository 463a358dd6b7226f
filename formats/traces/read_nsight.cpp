#include "formats/traces/read_nsight.h"

#include <filesystem>

#include "formats/runs/database.h"
#include "formats/traces/nsight_reader.h"

namespace plimsoll {
namespace {

constexpr Bytes kLongestValue = 64 * kMiB;

tl::unexpected<Error> refuse(const std::string& path, std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = std::move(remedy)});
}

/// Views and virtual tables, which have no pages of their own, do not count.
bool any_table(Database& database, const char* names) {
  const std::string tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND rootpage > 0";
  return database.integer(tables + " AND name IN (" + names + ")") > 0;
}

constexpr const char* kActivity =
    "'CUPTI_ACTIVITY_KIND_KERNEL','CUPTI_ACTIVITY_KIND_MEMCPY','CUPTI_ACTIVITY_KIND_MEMSET','CUPTI_ACTIVITY_KIND_RUNTIME',"
    "'NVTX_EVENTS','CUDA_GPU_MEMORY_USAGE_EVENTS'";

Result<void> check_kind(Database& database, const std::string& path) {
  if (any_table(database, "'StringTable'") && any_table(database, "'CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL'")) {
    return refuse(path, "a database of nvprof, whose tables are others", "profile with Nsight Systems, or with plimsoll profile");
  }
  if (any_table(database, "'StringIds'") || any_table(database, kActivity)) return {};
  if (any_table(database, "'plans'") && any_table(database, "'step_summaries'")) {
    return refuse(path, "a run of plimsoll's own, whose instructions are no recording", "write its trace first: plimsoll export RUN --nsight FILE");
  }
  return refuse(path, "a database without device activity: it has none of the tables that Nsight Systems exports",
                "name an export (nsys export --type sqlite) or a run file of plimsoll profile");
}

template <typename Answer, typename Read>
Result<Answer> with_database(const std::string& path, const Read& read) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return refuse(path, "there is no such file", {});
  try {
    Database database(path, has_log(path) ? Database::Mode::kRead : Database::Mode::kReadUnchanging);
    database.restrain(kLongestValue);
    return read(database);
  } catch (const EnvironmentError& error) {
    return fail(error.error());
  }
}

}  // namespace

Result<Recording> read_nsight(const std::string& path) {
  return with_database<Recording>(path, [&](Database& database) -> Result<Recording> {
    if (auto known = check_kind(database, path); !known) return fail(known.error());
    return NsightReader(database).read();
  });
}

Result<bool> holds_activity(const std::string& path) {
  return with_database<bool>(path, [&](Database& database) -> Result<bool> { return any_table(database, kActivity); });
}

}  // namespace plimsoll
