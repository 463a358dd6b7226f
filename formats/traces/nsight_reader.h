#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/trace/recording.h"
#include "formats/runs/database.h"
#include "formats/runs/statement.h"
#include "formats/traces/table_columns.h"

namespace plimsoll {

/// Reads the tables of one open database into a Recording. Every failure throws an EnvironmentError; of kind kInput, when the
/// content is at fault.
class NsightReader {
 public:
  explicit NsightReader(Database& database) : database_(database) {}

  Recording read();

 private:
  void read_meta();
  void read_names();
  void read_devices();
  void read_thread_names();
  void read_kernels();
  void read_copies();
  void read_fills();
  void read_calls();
  void read_waits();
  void read_event_waits();
  void join_events();
  void read_allocations();
  void read_ranges();
  void read_ours();

  /// The table's columns, or nothing there; refused when it lacks one of `needed`.
  TableColumns columns(const char* table, std::initializer_list<const char*> needed);
  /// A query for these expressions of all rows.
  Statement query(const TableColumns& table, std::initializer_list<std::string> expressions);
  /// From the columns `at` (start) and `at` + 1 (end); a row that ends before it starts counts as damage.
  void read_stretch(const Statement& row, int at, Nanoseconds& start, Nanoseconds& end);
  NameId name_of(std::int64_t id);
  std::uint32_t thread_of(std::int64_t global);

  Database& database_;
  Recording recording_;
  std::unordered_map<std::int64_t, NameId> names_;           ///< by StringIds.id
  std::unordered_map<std::int64_t, std::uint32_t> threads_;  ///< by globalTid
};

}  // namespace plimsoll
