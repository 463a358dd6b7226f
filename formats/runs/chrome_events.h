#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "core/base/quantity.h"
#include "formats/text/json_text.h"

namespace plimsoll {

/// Exact microseconds: "1.234" for 1234 ns.
std::string microseconds(Nanoseconds time);

/// Streams the events of a Chrome trace, which is closed by end().
class ChromeEvents {
 public:
  explicit ChromeEvents(std::ostream& out);

  void add(const JsonLine& line);
  /// Metadata: `what` is process_name or thread_name.
  void name(std::string_view what, std::size_t process, std::int64_t thread, std::string_view name);
  void end();

  /// The beginning of an event.
  static JsonLine line(std::string_view phase, std::string_view name, std::size_t process, std::int64_t thread);

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace plimsoll
