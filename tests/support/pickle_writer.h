#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace plimsoll::test {

/// Values as Python's pickle (protocol 4) writes them, without memory of what was written before.
inline std::string pickled(std::int64_t value) {
  std::string bytes{'\x8a', '\x08'};
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i)));
  return bytes;
}
inline std::string pickled(const std::string& text) { return std::string{'\x8c', static_cast<char>(text.size())} + text; }
inline std::string pickled_list(const std::vector<std::string>& items) {
  std::string bytes = "](";
  for (const std::string& item : items) bytes += item;
  return bytes + "e";
}
inline std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes = "}(";
  for (const auto& [key, value] : entries) bytes += pickled(key) + value;
  return bytes + "u";
}
inline std::string pickle_file(const std::string& value) { return std::string("\x80\x04", 2) + value + "."; }

/// One entry of a memory history.
inline std::string history_entry(const std::string& action, std::int64_t address, std::int64_t size, std::int64_t time) {
  return pickled_dict({{"action", pickled(action)}, {"addr", pickled(address)}, {"size", pickled(size)}, {"stream", pickled(0)},
                       {"time_us", pickled(time)}});
}
inline std::string snapshot_file(const std::vector<std::string>& history) {
  return pickle_file(pickled_dict({{"segments", pickled_list({})}, {"device_traces", pickled_list({pickled_list(history)})}}));
}

}  // namespace plimsoll::test
