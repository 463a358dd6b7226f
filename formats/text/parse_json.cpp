#include "formats/text/parse_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <vector>

#include "formats/text/parse_ordered_json.h"

namespace plimsoll {
namespace {

using Event = nlohmann::json::parse_event_t;

/// The letters of a text for the parser, which tell how far it has read.
struct Letters {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** reached = nullptr;

  reference operator*() const { return *at; }
  Letters& operator++() {
    *reached = ++at;
    return *this;
  }
  Letters operator++(int) {
    const Letters before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Letters& other) const { return at == other.at; }
};

constexpr int kMaxDepth = 64;
constexpr std::int64_t kMaxValues = 4'000'000;  // bounds the memory that a hostile file can claim

/// Watches the parser; after the first problem everything else is discarded as it is read.
class Watch {
 public:
  explicit Watch(const char* text) : reached_(text) {}

  template <typename Json>
  bool accept(int depth, Event event, const Json& value) {
    if (!problem_.empty()) return false;
    if (depth > kMaxDepth) problem_ = fmt::format("nested deeper than {} levels", kMaxDepth);
    if (++values_ > kMaxValues) problem_ = fmt::format("more than {} values", kMaxValues);
    if (!problem_.empty()) {
      problem_at_ = reached_;
      return false;
    }
    if (event == Event::object_start) open_object(static_cast<std::size_t>(depth) + 1);
    if (event == Event::key) see_key(static_cast<std::size_t>(depth), value.template get<std::string>());
    if (!problem_.empty()) problem_at_ = reached_;
    return problem_.empty();
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const char* problem_at() const { return problem_at_; }
  const char*& reached() { return reached_; }

 private:
  void open_object(std::size_t depth) {
    if (keys_.size() <= depth) keys_.resize(depth + 1);
    keys_[depth].clear();
  }
  void see_key(std::size_t depth, const std::string& key) {
    if (!keys_[depth].insert(key).second) problem_ = fmt::format("the key '{}' is given twice", key);
  }

  std::vector<std::set<std::string>> keys_;  ///< by depth, of the object that is open there
  std::int64_t values_ = 0;
  std::string problem_;
  const char* problem_at_ = nullptr;
  const char* reached_;  ///< in the text
};

tl::unexpected<Error> bad(std::string what, std::string where) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = {}});
}

/// The library's message without its "[json.exception…] parse error at line …: " prefix.
std::string reason(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const auto prefix_end = text.find("] ");
  const std::string message = prefix_end == std::string::npos ? text : text.substr(prefix_end + 2);
  const auto place_end = message.find(": ");
  return message.starts_with("parse error") && place_end != std::string::npos ? message.substr(place_end + 2) : message;
}

/// Every SQLite file begins so.
constexpr std::string_view kRunFileMark = "SQLite format 3";

template <typename Json>
Result<Json> parse(std::string_view text, std::string_view where, std::int64_t first_byte) {
  if (text.starts_with(kRunFileMark)) {
    return fail({.kind = ErrorKind::kInput, .what = "this is a run file, not JSON", .where = std::string(where),
                 .remedy = "plimsoll show, compare, replay and export read run files"});
  }
  Watch watch(text.data());
  const auto place = [&](std::size_t byte) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(byte), '\n');
    return fmt::format("{}: line {}, byte {}", where, line, first_byte + static_cast<std::int64_t>(byte));
  };
  const auto bytes_to = [&](const char* at) { return static_cast<std::size_t>(at - text.data()); };
  try {
    const Letters begin{text.data(), &watch.reached()}, end{text.data() + text.size(), &watch.reached()};
    Json value = Json::parse(begin, end, [&](int depth, Event event, Json& seen) { return watch.accept(depth, event, seen); });
    if (!watch.problem().empty()) return bad(watch.problem(), place(bytes_to(watch.problem_at())));
    return value;
  } catch (const nlohmann::json::parse_error& error) {
    return bad(reason(error), place(std::min(error.byte, text.size())));
  } catch (const nlohmann::json::exception& error) {  // a number beyond a double, for one
    return bad(reason(error), place(bytes_to(watch.reached())));
  }
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, std::string_view where, std::int64_t first_byte) {
  return parse<nlohmann::json>(text, where, first_byte);
}

Result<nlohmann::ordered_json> parse_ordered_json(std::string_view text, std::string_view where) {
  return parse<nlohmann::ordered_json>(text, where, 0);
}

}  // namespace plimsoll
