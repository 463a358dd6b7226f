#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = PLIMSOLL_SOURCE_ROOT;

/// Which rooms a room may include, besides itself.
const std::map<std::string, std::set<std::string>> kMayInclude{
    {"core", {}},
    {"formats", {"core"}},
    {"sim", {"core", "formats"}},
    {"profiler", {"core", "formats"}},
    {"executor", {"core", "formats"}},
    {"session", {"core", "formats", "sim", "profiler", "executor"}},
    {"gui", {"core", "formats", "sim"}},
    {"cli", {"core", "formats", "sim", "profiler", "executor", "session"}},
    {"python", {"core", "cli"}},
};

std::vector<fs::path> sources_of(const std::string& room) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / room)) {
    const std::string extension = entry.path().extension();
    if (extension == ".h" || extension == ".cpp" || extension == ".cu" || extension == ".cuh") files.push_back(entry.path());
  }
  return files;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// "core/plan/plan.h" for an #include of a file of the house, else empty.
std::string included(const std::string& line) {
  const std::string opening = "#include \"";
  if (line.rfind(opening, 0) != 0) return {};
  return line.substr(opening.size(), line.rfind('"') - opening.size());
}

}  // namespace

TEST_CASE("a room includes only the rooms below it") {
  for (const auto& [room, allowed] : kMayInclude) {
    for (const fs::path& file : sources_of(room)) {
      for (const std::string& line : lines_of(file)) {
        const std::string header = included(line);
        if (header.empty()) continue;
        const std::string from = header.substr(0, header.find('/'));
        INFO(file << " includes " << header);
        CHECK((from == room || allowed.count(from) == 1));
      }
    }
  }
}

TEST_CASE("an included file of the house exists where the include says, from the root") {
  for (const auto& [room, allowed] : kMayInclude) {
    for (const fs::path& file : sources_of(room)) {
      for (const std::string& line : lines_of(file)) {
        const std::string header = included(line);
        INFO(file << " includes " << header);
        if (!header.empty()) CHECK(fs::exists(kRoot / header));
      }
    }
  }
}

TEST_CASE("one name means one type: no two headers of a namespace define it") {
  // Two would be one to the linker, which keeps either's inline functions for both.
  const std::regex definition(R"(^(?:struct|class|enum class) (\w+)(?: final)?(?: : .*)? \{)");
  const std::regex space(R"(^(?:inline )?namespace (\w+) \{)");
  std::map<std::string, std::string> seen;
  for (const auto& [room, allowed] : kMayInclude) {
    for (const fs::path& file : sources_of(room)) {
      if (file.extension() != ".h") continue;
      std::string inner;
      std::smatch match;
      for (const std::string& line : lines_of(file)) {
        if (std::regex_search(line, match, space)) inner = match[1];
        if (!std::regex_search(line, match, definition)) continue;
        const auto [known, is_new] = seen.emplace(inner + "::" + match[1].str(), file.string());
        INFO(match[1] << " is defined in " << known->second << " and in " << file);
        CHECK(is_new);
      }
    }
  }
}

TEST_CASE("no file passes 400 lines, and every header is guarded once") {
  for (const auto& [room, allowed] : kMayInclude) {
    for (const fs::path& file : sources_of(room)) {
      const auto lines = lines_of(file);
      INFO(file);
      CHECK(lines.size() <= 400);
      if (file.extension() == ".h") CHECK(lines.front() == "#pragma once");
    }
  }
}

TEST_CASE("CUDA appears behind its two doors only") {
  for (const auto& [room, allowed] : kMayInclude) {
    for (const fs::path& file : sources_of(room)) {
      const std::string place = fs::relative(file, kRoot);
      if (place.rfind("executor/cuda", 0) == 0 || place.rfind("profiler/cupti", 0) == 0) continue;
      for (const std::string& line : lines_of(file)) {
        INFO(file);
        for (const char* header : {"#include <cuda", "#include <cupti", "#include <cublas", "#include <cudnn", "#include <nccl"}) {
          CHECK(line.find(header) == std::string::npos);
        }
      }
    }
  }
}
