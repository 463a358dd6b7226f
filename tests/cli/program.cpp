#include "tests/cli/program.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace plimsoll::test {

Arguments command_line(const Arguments& arguments) {
  Arguments line{PLIMSOLL_PROGRAM};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

ChildEnd plimsoll_in(const TemporaryFolder& folder, const Arguments& arguments, long file_limit) {
  ChildEnd end = run_child(command_line(arguments), folder.path(), file_limit);
  std::string line;
  for (const std::string& argument : arguments) line += " " + argument;
  INFO("plimsoll" << line << "\n" << end.err);
  REQUIRE(end.signal == 0);
  for (const char* trace : {"terminate called", "Assertion", "AddressSanitizer", "runtime error:"}) {
    REQUIRE_THAT(end.err, !Catch::Contains(trace));
  }
  return end;
}

Arguments tiny_run(const std::string& steps, const Arguments& more) {
  Arguments line{"run",   kTinyModel, "--data", kText,      "--steps",  steps, "--device-memory",
                 "16MiB", "--ram",    "64MiB",  "--matmul", "openblas", "-o",  "run.plimsoll"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> files_in(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace plimsoll::test
