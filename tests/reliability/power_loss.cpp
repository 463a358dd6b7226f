#include "tests/reliability/power_loss.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>

namespace plimsoll::test {
namespace {

namespace fs = std::filesystem;

using Names = std::map<std::string, std::string>;  ///< the number of the file that a name means

constexpr std::size_t kSector = 512;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Names names_in(const std::string& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    struct stat found {};
    if (entry.is_regular_file() && ::stat(entry.path().c_str(), &found) == 0) {
      names[entry.path().filename()] = std::to_string(found.st_ino);
    }
  }
  return names;
}

Names synced_names(const std::string& log) {
  Names names;
  std::ifstream file(log + "/names");
  for (std::string line; std::getline(file, line);) {
    const auto blank = line.find(' ');
    names[line.substr(blank + 1)] = line.substr(0, blank);
  }
  return names;
}

/// The contents of a file: every sector the old or the new one.
std::string mix(const std::string& old, const std::string& now, std::mt19937_64& random) {
  if (old == now) return now;
  std::string mixed((random() & 1) != 0 ? old.size() : now.size(), '\0');
  for (std::size_t at = 0; at < mixed.size(); at += kSector) {
    const std::string& from = (random() & 1) != 0 ? old : now;
    for (std::size_t i = at; i < std::min({at + kSector, mixed.size(), from.size()}); ++i) mixed[i] = from[i];
  }
  return mixed;
}

}  // namespace

void lose_power(const std::string& folder, const std::string& log, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Names synced = synced_names(log);
  const Names live = names_in(folder);
  std::set<std::string> all;
  for (const auto& [name, number] : synced) all.insert(name);
  for (const auto& [name, number] : live) all.insert(name);
  std::map<std::string, std::string> contents;  // by file, so that two names of one mean the same
  std::map<std::string, std::string> kept;      // by name
  for (const std::string& name : all) {
    const auto was = synced.find(name);
    const auto is = live.find(name);
    const std::string old = was == synced.end() ? "" : was->second;
    const std::string now = is == live.end() ? "" : is->second;
    const std::string number = old == now || (random() & 1) != 0 ? now : old;
    if (number.empty()) continue;
    if (!contents.contains(number)) {
      const std::string file = number == now ? folder + "/" + name : log + "/live-" + number;
      contents[number] = mix(read_all(log + "/synced-" + number), read_all(file), random);
    }
    kept[name] = contents[number];
  }
  for (const auto& [name, number] : live) fs::remove(folder + "/" + name);
  for (const auto& [name, bytes] : kept) std::ofstream(folder + "/" + name, std::ios::binary) << bytes;
}

}  // namespace plimsoll::test
