#include "formats/runs/chrome_events.h"

#include <fmt/format.h>

namespace plimsoll {

std::string microseconds(Nanoseconds time) {
  const std::int64_t ns = time.count;
  const std::int64_t size = ns < 0 ? -ns : ns;
  return fmt::format("{}{}.{:03}", ns < 0 ? "-" : "", size / 1000, size % 1000);
}

ChromeEvents::ChromeEvents(std::ostream& out) : out_(out) {
  out_ << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
}

void ChromeEvents::add(const JsonLine& line) {
  out_ << (first_ ? "\n" : ",\n") << line.str();
  first_ = false;
}

void ChromeEvents::name(std::string_view what, std::size_t process, std::int64_t thread, std::string_view name) {
  add(line("M", what, process, thread).raw("args", JsonLine().text("name", name).str()));
}

void ChromeEvents::end() { out_ << "\n]}\n"; }

JsonLine ChromeEvents::line(std::string_view phase, std::string_view name, std::size_t process, std::int64_t thread) {
  JsonLine line;
  line.text("ph", phase).text("name", name).integer("pid", static_cast<std::int64_t>(process)).integer("tid", thread);
  return line;
}

}  // namespace plimsoll
