#include "executor/kernels/blas_room.h"

#include <fmt/format.h>

#include "formats/machines/address_space.h"

namespace plimsoll {

bool uses_openblas(const Recipe& recipe) {
  return recipe.matmul == MatmulLibrary::kOpenBlas || recipe.precision == Precision::kFp64;  // oneDNN 2 has no fp64
}

Result<void> check_blas_room(std::int64_t threads, const std::string& root) {
  const auto left = address_space_left(root);
  if (!left || threads * kBlasBuffer <= *left) return {};
  return fail({.kind = ErrorKind::kEnvironment,
               .what = fmt::format("OpenBLAS needs {} of address space for {} threads, and the limit leaves {}",
                                   to_text(threads * kBlasBuffer), threads, to_text(*left)),
               .where = "ulimit -v",
               .remedy = "raise the limit, use fewer --cpu-cores, or take --matmul onednn"});
}

}  // namespace plimsoll
