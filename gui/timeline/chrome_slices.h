#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"

namespace plimsoll::gui {

/// A slice of a foreign trace.
struct ForeignSlice {
  std::int64_t start = 0;  ///< nanoseconds
  std::int64_t end = 0;
  std::uint32_t label = 0;
};

/// The slices of a Chrome trace by thread, with names.
struct ChromeSlices {
  /// Process and thread as the file writes them, as text: some programs use words.
  using Thread = std::pair<std::string, std::string>;

  struct Label {
    std::string name;
    std::string category;
  };
  std::vector<Label> labels;
  std::map<Thread, std::vector<ForeignSlice>> threads;
  std::map<Thread, std::string> thread_names;
  std::map<std::string, std::string> process_names;
};

/// Reads the file event by event, so that memory is that of the slices.
Result<ChromeSlices> read_chrome_slices(const std::string& path);

}  // namespace plimsoll::gui
