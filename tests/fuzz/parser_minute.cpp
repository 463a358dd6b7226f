// Every reader of files, on the seeds of tests/fuzz/corpus as they are and then changed, for some seconds in all:
//   parser_minute CORPUS SECONDS [PARSER …]
// What is drawn depends on the parser's name and the round alone. When the process dies, its last lines name parser,
// seed and round, and the bytes lie in the file that is named.

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

std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 20261122;
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

void try_parser(const Parser& parser, const std::filesystem::path& corpus, double seconds, const std::string& last) {
  const std::vector<std::string> seeds = seeds_of(corpus / parser.name);
  require(!seeds.empty(), "every parser has seeds");
  std::mt19937_64 random(seed_of(parser.name));
  std::fprintf(stderr, "%s: %zu seeds, engine seed %llu, last input %s\n", parser.name.c_str(), seeds.size(),
               static_cast<unsigned long long>(seed_of(parser.name)), last.c_str());
  for (const std::string& seed : seeds) try_input(parser, seed, last);
  const auto begin = Clock::now();
  std::size_t rounds = 0;
  for (; std::chrono::duration<double>(Clock::now() - begin).count() < seconds; ++rounds) {
    try_input(parser, changed_bytes(seeds[rounds % seeds.size()], seeds, random), last);
  }
  std::printf("%-17s %8zu changed inputs in %.1f s\n", parser.name.c_str(), rounds, seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return std::fputs("usage: parser_minute CORPUS SECONDS [PARSER …]\n", stderr), 2;
  const std::vector<std::string> wanted(arguments + 3, arguments + count);
  std::vector<Parser> chosen;
  for (const Parser& parser : parsers()) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), parser.name) != wanted.end())
      chosen.push_back(parser);
  }
  if (chosen.empty()) return std::fputs("there is no parser of that name\n", stderr), 2;
  const TemporaryFolder folder;
  try {
    for (const Parser& parser : chosen) {
      try_parser(parser, arguments[1], std::atof(arguments[2]) / static_cast<double>(chosen.size()),
                 folder.file("last"));
    }
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "threw: %s\n", thrown.what());
    std::abort();
  }
  return 0;
}
