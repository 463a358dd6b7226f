#include "gui/timeline/find_events.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string>
#include <tuple>

namespace plimsoll::gui {
namespace {

std::string lower(std::string_view text) {
  std::string low(text);
  std::transform(low.begin(), low.end(), low.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return low;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char letter : lower(text) + " ") {
    if (letter != ' ') {
      word += letter;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

std::optional<std::int64_t> number_behind(const std::string& word, std::string_view prefix) {
  if (word.rfind(prefix, 0) != 0) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, code] = std::from_chars(word.data() + prefix.size(), end, number);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return number;
}

bool word_matches(const Timeline& timeline, std::uint32_t label, const std::string& word) {
  if (const auto id = number_behind(word, "#")) return *id == label;
  if (const auto layer = number_behind(word, "layer:")) {
    return label < timeline.body.size() && timeline.body.list.instructions[label].layer == *layer;
  }
  return lower(timeline.name_of(label)).find(word) != std::string::npos;
}

/// Order of events over the whole timeline.
using Place = std::tuple<std::int64_t, std::uint32_t, std::uint32_t, std::uint32_t>;
Place place_of(const Timeline& timeline, const EventRef& ref) {
  return {lane_of(timeline, ref).start(ref.index), ref.track, ref.lane, ref.index};
}

/// Calls visit(ref) for every matching event, lane by lane.
template <typename Visit>
void for_each_match(const Timeline& timeline, const EventQuery& query, const Visit& visit) {
  for (std::uint32_t t = 0; t < timeline.tracks.size(); ++t) {
    for (std::uint32_t l = 0; l < timeline.tracks[t].lanes.size(); ++l) {
      const EventLane& lane = timeline.tracks[t].lanes[l];
      for (std::size_t i = 0; i < lane.size(); ++i) {
        if (query.matches(lane.label(i))) visit(EventRef{t, l, static_cast<std::uint32_t>(i)});
      }
    }
  }
}

/// The nearest match behind `from` in the order `before`, else the first one in that order.
template <typename Before>
std::optional<EventRef> nearest(const Timeline& timeline, const EventQuery& query, const std::optional<EventRef>& from,
                                const Before& before) {
  std::optional<EventRef> best;
  std::optional<EventRef> first;
  for_each_match(timeline, query, [&](const EventRef& ref) {
    const Place place = place_of(timeline, ref);
    if (!first || before(place, place_of(timeline, *first))) first = ref;
    if (!from || !before(place_of(timeline, *from), place)) return;
    if (!best || before(place, place_of(timeline, *best))) best = ref;
  });
  return best ? best : first;
}

}  // namespace

EventQuery::EventQuery(const Timeline& timeline, std::string_view text) : wanted_(timeline.labels.size(), 0) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return;
  for (std::uint32_t label = 0; label < timeline.labels.size(); ++label) {
    const bool all =
        std::all_of(words.begin(), words.end(), [&](const auto& word) { return word_matches(timeline, label, word); });
    if (!all) continue;
    wanted_[label] = 1;
    labels_.push_back(label);
  }
}

std::optional<EventRef> next_match(const Timeline& timeline, const EventQuery& query, const std::optional<EventRef>& after) {
  return nearest(timeline, query, after, std::less<Place>());
}

std::optional<EventRef> previous_match(const Timeline& timeline, const EventQuery& query,
                                       const std::optional<EventRef>& before) {
  return nearest(timeline, query, before, std::greater<Place>());
}

MatchCount count_matches(const Timeline& timeline, const EventQuery& query, const std::optional<EventRef>& current) {
  MatchCount count;
  bool among = false;
  for_each_match(timeline, query, [&](const EventRef& ref) {
    ++count.matches;
    if (!current) return;
    among = among || ref == *current;
    if (place_of(timeline, ref) <= place_of(timeline, *current)) ++count.position;
  });
  if (!among) count.position = 0;
  return count;
}

}  // namespace plimsoll::gui
