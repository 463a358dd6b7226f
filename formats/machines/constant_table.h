#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll {

/// Named numbers from a table with columns key, value, unit, origin.
class ConstantTable {
 public:
  struct Entry {
    double value = 0;
    std::string unit;
    std::string origin;  ///< who measured it, or "assumed"
  };

  /// Reads the CSV text; a repeated key or a value that is no number is refused.
  static Result<ConstantTable> read(std::string_view csv, std::string where);

  /// The entry of `key`; throws std::out_of_range when there is none (an embedded table holds all keys that code asks
  /// for).
  [[nodiscard]] const Entry& entry(std::string_view key) const;
  [[nodiscard]] double at(std::string_view key) const { return entry(key).value; }
  [[nodiscard]] bool has(std::string_view key) const { return entries_.find(key) != entries_.end(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

/// Links, drives, DRAM, RAM and cores where the user says nothing (data/platforms/machine_defaults.csv).
const ConstantTable& machine_defaults();

/// What the program needs beside a plan's arenas (data/calibration/process_memory.csv).
const ConstantTable& process_memory_constants();

}  // namespace plimsoll
