#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gui/timeline/timeline.h"

namespace plimsoll::gui {

/// What a search looks for: labels whose name holds the words, in any case; "layer:7" and "#123" (an instruction's id)
/// narrow it down.
class EventQuery {
 public:
  EventQuery() = default;
  EventQuery(const Timeline& timeline, std::string_view words);

  [[nodiscard]] bool empty() const { return labels_.empty(); }
  [[nodiscard]] bool matches(std::uint32_t label) const { return label < wanted_.size() && wanted_[label] != 0; }
  /// Labels that match.
  [[nodiscard]] std::size_t labels() const { return labels_.size(); }

 private:
  std::vector<std::uint8_t> wanted_;  ///< by label
  std::vector<std::uint32_t> labels_;
};

/// The matching event next in time behind `after` (nothing: the first); past the end the search begins again.
std::optional<EventRef> next_match(const Timeline& timeline, const EventQuery& query, const std::optional<EventRef>& after);
/// The one before.
std::optional<EventRef> previous_match(const Timeline& timeline, const EventQuery& query, const std::optional<EventRef>& before);

/// How many events match, and which of them `current` is (from 1; 0: none), in order of time.
struct MatchCount {
  std::size_t matches = 0;
  std::size_t position = 0;
};
MatchCount count_matches(const Timeline& timeline, const EventQuery& query, const std::optional<EventRef>& current);

}  // namespace plimsoll::gui
