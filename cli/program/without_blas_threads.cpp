#include "cli/program/without_blas_threads.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace plimsoll {
namespace {

constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";

}  // namespace

void restart_without_blas_threads(char** arguments) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  if (std::getenv(kThreads) != nullptr && std::atoi(std::getenv(kThreads)) == 1) return;
  std::array<char, PATH_MAX> program{};  // by its own name, so that it is still called so
  const ssize_t length = ::readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0 || ::setenv(kThreads, "1", 1) != 0) return;
  ::execv(program.data(), arguments);  // where that fails, it goes on as it is
}

}  // namespace plimsoll
