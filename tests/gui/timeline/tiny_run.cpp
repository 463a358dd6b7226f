#include "tests/gui/timeline/tiny_run.h"

#include <catch2/catch.hpp>

#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

std::string trained(const TemporaryFolder& folder, const std::string& name) {
  const auto end = run_child({PLIMSOLL_PROGRAM, "run", "gpt:layers=2,hidden=32,heads=4,vocab=256,positions=32", "--data",
                              PLIMSOLL_SAMPLE_TEXT, "--steps", "8", "--device-memory", "16MiB", "--ram", "64MiB", "--matmul",
                              "openblas", "-o", name, "--quiet"},
                             folder.path());
  INFO(end.err);
  REQUIRE(end.code == 0);
  return folder.file(name);
}

}  // namespace

const std::string& tiny_run_file() {
  static const TemporaryFolder folder;
  static const std::string path = trained(folder, "run.plimsoll");
  return path;
}

const std::string& second_run_file() {
  static const TemporaryFolder folder;
  static const std::string path = trained(folder, "again.plimsoll");
  return path;
}

}  // namespace plimsoll::test
