#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// A claim of the field, and the command lines that say what the simulator makes of it.
struct Headline {
  std::string id;         ///< what `plimsoll headlines ID` calls it
  std::string section;    ///< of the page
  std::string claim;
  std::string source;
  std::optional<double> published;  ///< the claimed figure in `unit`, where it is a number
  std::string unit;       ///< "", "TFLOP/s", "days", …
  std::string figure;     ///< which figure of the answer is meant; empty: it is not simulated
  std::vector<std::string> command;  ///< words after "plimsoll"; empty: not simulated
  std::vector<std::string> against;  ///< of a ratio: the line whose figure is divided by that of `command`
  std::string note;       ///< where physics disagrees, why; or why it is not simulated
};

/// Splits a command line at spaces outside double quotes.
std::vector<std::string> split_words(std::string_view line);

/// Reads a table of headlines; an unusable row is an error with its line.
Result<std::vector<Headline>> read_headlines(std::string_view csv, std::string where);

/// Those that the program carries (data/headlines/headlines.csv).
const std::vector<Headline>& known_headlines();

/// The page that they are put into (data/headlines/page.md): "{{SECTION}}" on a line of its own stands for a section's table.
std::string_view headlines_page();

}  // namespace plimsoll
