#pragma once

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

/// The built program on ranks that mpirun starts.
namespace plimsoll::test::on_mpi {

inline const std::string kModel = "gpt:layers=4,hidden=32,heads=4,vocab=256,positions=32";
inline const std::string kText = std::string(PLIMSOLL_DATA) + "/texts/us-constitution.txt";

/// Each rank notes its process and becomes the program.
inline const std::string kRank = "echo $$ > process.$OMPI_COMM_WORLD_RANK; exec \"$0\" \"$@\"";

inline std::vector<std::string> run_options(const std::vector<std::string>& more) {
  std::vector<std::string> words{"run",      kModel,   "--data",      kText, "--batch",         "2",     "--seq", "32",
                                 "--matmul", "onednn", "--cpu-cores", "1",   "--device-memory", "64MiB", "--ram", "64MiB"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::vector<std::string> on_ranks(int ranks, const std::vector<std::string>& more, const std::string& rank = kRank) {
  std::vector<std::string> words{
      "/usr/bin/env", "mpirun", "--oversubscribe", "--allow-run-as-root", "-n", std::to_string(ranks), "sh",
      "-c",           rank,     PLIMSOLL_PROGRAM};
  const std::vector<std::string> options = run_options(more);
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

inline nlohmann::json answer_of(const ChildEnd& end) {
  INFO(end.err);
  REQUIRE(end.code == 0);
  return nlohmann::json::parse(end.out);
}

}  // namespace plimsoll::test::on_mpi
