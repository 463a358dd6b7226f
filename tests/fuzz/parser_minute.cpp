// Readers of files, on the seeds of tests/fuzz/corpus as they are and then changed, for some seconds of the CPU each:
//   parser_minute CORPUS SECONDS [--day DAY] PARSER …
//   parser_minute --are-all PARSER …    0 if these are all the readers that there are
// What is drawn depends on the parser's name, the round and the day (since 1970; today's unless said), so that each day tries other
// inputs. When the process dies, its last lines name parser and day, and the bytes lie in the file that is named.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "tests/fuzz/change_bytes.h"
#include "tests/fuzz/parser.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace plimsoll;
using namespace plimsoll::test;

constexpr double kMostWaiting = 2;  // on a busy computer: so many times the seconds that were asked for
constexpr double kSlowSeconds = 5;  // far above what any of these small inputs takes, under sanitizers too

std::vector<std::string> seeds_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

std::uint64_t seed_of(const std::string& name, std::uint64_t day) {
  std::uint64_t seed = 20261122 + day;
  for (const char letter : name) seed = seed * 131 + static_cast<unsigned char>(letter);
  return seed;
}

double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Gives one input to one parser; the file `last` holds what ended the process, if something does.
void try_input(const Parser& parser, const std::string& bytes, const std::string& last) {
  std::ofstream(last, std::ios::binary) << bytes;
  const std::clock_t begin = std::clock();  // of the CPU: on a busy computer the other clock says little
  parser.read(bytes);
  const double seconds = seconds_since(begin);
  if (seconds > kSlowSeconds) std::fprintf(stderr, "%.1f s for %zu bytes\n", seconds, bytes.size());
  require(seconds <= kSlowSeconds, "reading ends soon");
}

/// Who is tried, for how long each, and on which day.
struct Round {
  std::vector<Parser> parsers;
  double seconds = 0;
  std::uint64_t day = 0;
};

void try_parser(const Parser& parser, const std::filesystem::path& corpus, const Round& round, const std::string& last) {
  const std::vector<std::string> seeds = seeds_of(corpus / parser.name);
  require(!seeds.empty(), "every parser has seeds");
  std::mt19937_64 random(seed_of(parser.name, round.day));
  std::fprintf(stderr, "%s: %zu seeds, --day %llu, last input %s\n", parser.name.c_str(), seeds.size(),
               static_cast<unsigned long long>(round.day), last.c_str());
  for (const std::string& seed : seeds) try_input(parser, seed, last);
  const std::clock_t begin = std::clock();
  const auto latest = std::chrono::steady_clock::now() + std::chrono::duration<double>(kMostWaiting * round.seconds);
  std::size_t rounds = 0;
  for (; seconds_since(begin) < round.seconds && std::chrono::steady_clock::now() < latest; ++rounds) {
    try_input(parser, changed_bytes(seeds[rounds % seeds.size()], seeds, random), last);
  }
  std::printf("%-17s %8zu changed inputs in %.1f CPU-seconds\n", parser.name.c_str(), rounds, seconds_since(begin));
  std::fflush(stdout);
}

bool are_all(const std::vector<std::string>& names) {
  const std::vector<Parser>& all = parsers();
  const auto is_named = [&](const Parser& parser) { return std::find(names.begin(), names.end(), parser.name) != names.end(); };
  for (const Parser& parser : all) {
    if (!is_named(parser)) std::fprintf(stderr, "%s has no minute\n", parser.name.c_str());
  }
  return names.size() == all.size() && std::all_of(all.begin(), all.end(), is_named);
}

std::vector<Parser> named(const std::vector<std::string>& wanted) {
  std::vector<Parser> chosen;
  for (const Parser& parser : parsers()) {
    if (std::find(wanted.begin(), wanted.end(), parser.name) != wanted.end()) chosen.push_back(parser);
  }
  return chosen;
}

Round round_of(double seconds, std::vector<std::string> words) {
  Round round{.seconds = seconds, .day = static_cast<std::uint64_t>(std::time(nullptr)) / 86400};
  if (words.size() >= 2 && words[0] == "--day") {
    round.day = std::strtoull(words[1].c_str(), nullptr, 10);
    words.erase(words.begin(), words.begin() + 2);
  }
  round.parsers = named(words);
  if (round.parsers.size() != words.size()) round.parsers.clear();
  return round;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (!words.empty() && words[0] == "--are-all") return are_all({words.begin() + 1, words.end()}) ? 0 : 1;
  if (count < 4) return std::fputs("usage: parser_minute CORPUS SECONDS [--day DAY] PARSER …\n", stderr), 2;
  const Round round = round_of(std::atof(arguments[2]), {words.begin() + 2, words.end()});
  if (round.parsers.empty()) return std::fputs("there is no parser of one of these names\n", stderr), 2;
  const TemporaryFolder folder;
  try {
    for (const Parser& parser : round.parsers) try_parser(parser, words[0], round, folder.file("last"));
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "threw: %s\n", thrown.what());
    std::abort();
  }
  return 0;
}
