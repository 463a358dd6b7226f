#pragma once

#include <string>
#include <vector>

#include "cli/program/exit_code.h"
#include "core/base/result.h"

namespace plimsoll {

/// How published rows are to be shown.
struct RowFlags {
  std::vector<std::string> files;  ///< none: the rows that the program carries
  std::string family;              ///< only rows of this family
  std::string metric;              ///< only rows of this measure
  std::size_t worst = 10;          ///< rows that are printed, worst first
  bool json = false;
  bool csv = false;       ///< every row with its prediction
  bool markdown = false;  ///< RESULTS.md
  std::vector<std::string> runs;  ///< stored accuracies that go into it
  std::string recorded;           ///< a folder of run files that do too
  bool cross = false;     ///< fitted constants and the error on systems left out
};

/// Holds published rows against predictions and prints statistics.
Result<ExitCode> validate_rows(const RowFlags& flags);

}  // namespace plimsoll
