#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>

#include "executor/kernels/blas_room.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {

TEST_CASE("threads that multiply are refused where the address space does not hold a buffer for each of them") {
  const TemporaryFolder folder;
  CHECK(check_blas_room(1000, folder.path()));  // nobody says that there is a limit
  std::filesystem::create_directories(folder.file("proc/self"));
  std::ofstream(folder.file("proc/self/statm")) << "0 0 0 0 0 0 0\n";
  std::ofstream(folder.file("proc/self/limits"))
      << "Max address space         " << 2 * kBlasBuffer.count << "  unlimited  bytes\n";
  CHECK(check_blas_room(2, folder.path()));
  const auto refused = check_blas_room(3, folder.path());
  REQUIRE(!refused);
  CHECK(refused.error().kind == ErrorKind::kEnvironment);
  CHECK_THAT(refused.error().text(),
             Catch::Contains("ulimit -v") && Catch::Contains("3 threads") && Catch::Contains("256.1 MiB"));
}

TEST_CASE("products in fp64 are OpenBLAS's whatever library was chosen") {
  for (const MatmulLibrary library : {MatmulLibrary::kOneDnn, MatmulLibrary::kOpenBlas}) {
    for (const Precision precision : {Precision::kFp32, Precision::kFp64}) {
      Recipe recipe;
      recipe.matmul = library;
      recipe.precision = precision;
      CHECK(uses_openblas(recipe) == (library == MatmulLibrary::kOpenBlas || precision == Precision::kFp64));
    }
  }
}

}  // namespace plimsoll
