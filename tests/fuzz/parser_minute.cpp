// Every reader of files, on the seeds of tests/fuzz/corpus as they are and then changed, for some seconds in all:
//   parser_minute CORPUS SECONDS [PARSER …]
//   parser_minute CORPUS SECONDS --turn COUNT [DAY]    COUNT readers a day (since 1970), all within some days
// What is drawn depends on the parser's name and the round alone, in turns on the day too. When the process dies, its last lines
// name parser and engine seed, and the bytes lie in the file that is named.

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
using Clock = std::chrono::steady_clock;

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

/// Gives one input to one parser; the file `last` holds what ended the process, if something does.
void try_input(const Parser& parser, const std::string& bytes, const std::string& last) {
  std::ofstream(last, std::ios::binary) << bytes;
  const std::clock_t begin = std::clock();  // of the CPU: on a busy computer the other clock says little
  parser.read(bytes);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (seconds > kSlowSeconds) std::fprintf(stderr, "%.1f s for %zu bytes\n", seconds, bytes.size());
  require(seconds <= kSlowSeconds, "reading ends soon");
}

/// Who is tried, for how long each, and which inputs are drawn: day 0 is that of all readers.
struct Round {
  std::vector<Parser> parsers;
  double seconds = 0;
  std::uint64_t day = 0;
};

void try_parser(const Parser& parser, const std::filesystem::path& corpus, const Round& round, const std::string& last) {
  const std::vector<std::string> seeds = seeds_of(corpus / parser.name);
  require(!seeds.empty(), "every parser has seeds");
  const std::uint64_t engine_seed = seed_of(parser.name, round.day);
  std::mt19937_64 random(engine_seed);
  std::fprintf(stderr, "%s: %zu seeds, engine seed %llu, last input %s\n", parser.name.c_str(), seeds.size(),
               static_cast<unsigned long long>(engine_seed), last.c_str());
  for (const std::string& seed : seeds) try_input(parser, seed, last);
  const auto begin = Clock::now();
  std::size_t rounds = 0;
  for (; std::chrono::duration<double>(Clock::now() - begin).count() < round.seconds; ++rounds) {
    try_input(parser, changed_bytes(seeds[rounds % seeds.size()], seeds, random), last);
  }
  std::printf("%-17s %8zu changed inputs in %.1f s\n", parser.name.c_str(), rounds, round.seconds);
  std::fflush(stdout);
}

std::vector<Parser> named(const std::vector<std::string>& wanted) {
  std::vector<Parser> chosen;
  for (const Parser& parser : parsers()) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), parser.name) != wanted.end())
      chosen.push_back(parser);
  }
  return chosen;
}

/// The `count` readers whose turn it is on `day`: after ceil(readers / count) days in a row all had theirs.
std::vector<Parser> of_the_day(std::uint64_t day, std::size_t count) {
  const std::vector<Parser>& all = parsers();
  const std::size_t days = (all.size() + count - 1) / count;
  const std::size_t first = day % days * count;
  return {all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(first + count, all.size()))};
}

std::uint64_t today() {
  return static_cast<std::uint64_t>(std::time(nullptr)) / 86400;
}

Round round_of(const std::vector<std::string>& words) {
  Round round;
  if (words.size() >= 2 && words[0] == "--turn") {
    round.day = words.size() > 2 ? std::strtoull(words[2].c_str(), nullptr, 10) : today();
    round.parsers = of_the_day(round.day, std::max(1, std::atoi(words[1].c_str())));
    std::fprintf(stderr, "the turn of day %llu\n", static_cast<unsigned long long>(round.day));
  } else {
    round.parsers = named(words);
  }
  return round;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return std::fputs("usage: parser_minute CORPUS SECONDS [PARSER … | --turn COUNT [DAY]]\n", stderr), 2;
  Round round = round_of({arguments + 3, arguments + count});
  if (round.parsers.empty()) return std::fputs("there is no parser of that name\n", stderr), 2;
  round.seconds = std::atof(arguments[2]) / static_cast<double>(round.parsers.size());
  const TemporaryFolder folder;
  try {
    for (const Parser& parser : round.parsers) try_parser(parser, arguments[1], round, folder.file("last"));
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "threw: %s\n", thrown.what());
    std::abort();
  }
  return 0;
}
