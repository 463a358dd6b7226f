// A program that "touches CUDA" as the driver would on its behalf: it loads the library that CUDA_INJECTION64_PATH names and
// calls it. What it does: "exit N", "signal N", "wait FILE" (makes FILE, then waits for a SIGTERM and exits with 5), "fork N",
// "last N" (a while, then exits with N), "plain N" (no CUDA).

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

volatile std::sig_atomic_t asked_to_end = 0;

void start_cuda() {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
  auto* const initialize = library == nullptr ? nullptr : reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  if (initialize == nullptr || initialize() != 1) std::fprintf(stderr, "no injection: %s\n", ::dlerror());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const std::string what = arguments[1];
  if (what != "plain") start_cuda();
  std::printf("the program's own output\n");
  std::fflush(stdout);
  if (what == "signal" || what == "last") std::this_thread::sleep_for(std::chrono::milliseconds(1300));  // two collections
  if (what == "signal") std::raise(std::atoi(arguments[2]));
  if (what == "fork") {
    const pid_t child = ::fork();
    if (child == 0) std::exit(0);
    ::waitpid(child, nullptr, 0);
  }
  if (what != "wait") return std::atoi(arguments[2]);
  std::signal(SIGTERM, [](int) { asked_to_end = 1; });
  std::ofstream(arguments[2]) << "ready";
  while (asked_to_end == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return 5;
}
