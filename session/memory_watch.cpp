#include "session/memory_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace plimsoll {
namespace {

/// The word after `key` in a file of words.
template <typename Value>
std::optional<Value> read_after(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  Value value{};
  for (std::string word; file >> word;) {
    if (word == key && file >> value) return value;
  }
  return std::nullopt;
}

/// "some avg10=1.50 …" of /proc/pressure/memory, as a share.
std::optional<double> stalled_share(const std::string& root) {
  const std::string key = "avg10=";
  const auto word = read_after<std::string>(root + "/proc/pressure/memory", "some");
  if (!word || !word->starts_with(key)) return std::nullopt;
  return std::strtod(word->c_str() + key.size(), nullptr) / 100;
}

}  // namespace

std::optional<MemoryNow> memory_now(const std::string& root) {
  const auto own = read_after<std::int64_t>(root + "/proc/self/status", "RssAnon:");
  if (!own) return std::nullopt;
  return MemoryNow{available_memory(root), Bytes(*own * 1024), stalled_share(root)};
}

std::string MemoryShortage::text() const {
  std::string words = fmt::format("other processes have taken {} of memory since the run began: {} are left ({})", to_text(taken),
                                  to_text(now.available.bytes), now.available.bound);
  if (missing > Bytes(0)) words += fmt::format(", and {} of the run's own are not in memory", to_text(missing));
  if (now.stalled && *now.stalled > 0)
    words += fmt::format("; in the last ten seconds tasks waited for memory for {:.0f} % of the time", 100 * *now.stalled);
  return words + "; the run may become slow, or be killed";
}

MemoryWatch::MemoryWatch(Bytes needed, MemoryNow begin)
    : needed_(needed), begin_(std::move(begin)), reserve_((begin_.available.bytes + begin_.own).count / 20) {}

std::optional<MemoryShortage> MemoryWatch::look(const MemoryNow& now) {
  const Bytes missing = std::max(Bytes(0), needed_ - now.own);
  const Bytes taken = (begin_.available.bytes - now.available.bytes) - (now.own - begin_.own);
  const bool is_short = now.available.bytes - missing < reserve_ && 2 * taken.count >= reserve_.count;
  if (told_ || !is_short) return std::nullopt;
  told_ = true;
  return MemoryShortage{taken, missing, now, std::max(Bytes(0), now.available.bytes + now.own - reserve_)};
}

}  // namespace plimsoll
