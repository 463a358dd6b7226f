#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/machines/constant_table.h"

namespace plimsoll {

/// What a data set's size is counted in.
enum class DataUnit : std::uint8_t { kTokens, kSamples };
/// What one has to make of its bytes before a model can read them.
enum class DataContent : std::uint8_t { kText, kImage };

/// A data set that is known by name.
struct DataSet {
  std::string name;
  std::vector<std::string> aliases;
  DataUnit unit = DataUnit::kTokens;
  double count = 0;             ///< of one epoch
  std::optional<double> bytes;  ///< as stored, unprepared
  DataContent content = DataContent::kText;
  std::string origin;
};

/// Reads a table of data sets; an unusable row is an error with its line.
Result<std::vector<DataSet>> read_data_sets(std::string_view csv, std::string where);

/// Those that the program carries (data/training/data_sets.csv).
const std::vector<DataSet>& known_data_sets();

/// The data set of that name or alias (case, dashes and dots do not matter), or nothing.
const DataSet* find_data_set(std::string_view name);

/// Rates, powers and wear where the user says nothing (data/training/training_constants.csv).
const ConstantTable& training_constants();

std::string_view to_text(DataUnit unit);

}  // namespace plimsoll
