#include "executor/kernels/choose_matmul_library.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

using namespace plimsoll;

// The first case of a program of its own: what the libraries keep must not be there already.
TEST_CASE("choosing a library leaves none of the memory that trying them took") {
  const auto anonymous = [] {  // in kB
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string line; std::getline(rollup, line);) {
      if (line.starts_with("Anonymous:")) return std::stol(line.substr(10));
    }
    return -1L;
  };
  const long before = anonymous();
  if (before < 0) {
    WARN("skipped: this kernel has no smaps_rollup");
    return;
  }
  choose_matmul_library(20);
  CHECK(anonymous() - before < 1024);  // the operands of the trial alone have 3 MiB
}

TEST_CASE("OpenBLAS is chosen where it is clearly faster, so that near ties give the same bits from run to run") {
  const MatmulChoice choice = choose_matmul_library(20);
  CHECK(choice.onednn_gflops > 0);
  CHECK(choice.openblas_gflops > 0);
  CHECK((choice.library == MatmulLibrary::kOpenBlas) == (choice.openblas_gflops > kClearlyFaster * choice.onednn_gflops));
}
