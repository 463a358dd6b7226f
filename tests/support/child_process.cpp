#include "tests/support/child_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace plimsoll::test {
namespace {

constexpr std::chrono::seconds kPatience{300};  // only a test that fails waits so long, however busy the computer is
constexpr int kCannotStart = 127;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string capture_name() {
  std::string name = (std::filesystem::temp_directory_path() / "plimsoll-child-XXXXXX").string();
  const int descriptor = ::mkstemp(name.data());
  if (descriptor < 0) throw std::runtime_error("cannot make a temporary file");
  ::close(descriptor);
  return name;
}

/// In the child: only calls that are allowed between fork and exec.
void become(char* const* arguments, const char* folder, int out, int err, long file_limit) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (file_limit > 0) {
    const rlimit files{static_cast<rlim_t>(file_limit), static_cast<rlim_t>(file_limit)};
    ::setrlimit(RLIMIT_FSIZE, &files);
  }
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::chdir(folder) != 0) ::_exit(kCannotStart);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  ::_exit(kCannotStart);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& arguments, const std::string& folder, long file_limit)
    : captured_(capture_name()) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND;
  const int out = ::open((captured_ + ".out").c_str(), flags, 0600);
  const int err = ::open((captured_ + ".err").c_str(), flags, 0600);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execv's type
  pointers.push_back(nullptr);
  process_ = ::fork();
  if (process_ == 0) become(pointers.data(), folder.c_str(), out, err, file_limit);
  ::close(out);
  ::close(err);
  if (process_ < 0) throw std::runtime_error("cannot start a child process");
}

ChildProcess::~ChildProcess() {
  if (!ended()) {
    send(SIGKILL);
    ::waitpid(process_, &status_, 0);
  }
  for (const char* suffix : {"", ".out", ".err"}) {
    std::error_code ignored;
    std::filesystem::remove(captured_ + suffix, ignored);
  }
}

void ChildProcess::send(int signal) const {
  if (!reaped_) ::kill(process_, signal);
}

std::string ChildProcess::errors_so_far() const { return content_of(captured_ + ".err"); }

bool ChildProcess::ended() {
  if (!reaped_) reaped_ = ::waitpid(process_, &status_, WNOHANG) == process_;
  return reaped_;
}

bool ChildProcess::wait_for(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (ended() || std::chrono::steady_clock::now() > end) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool ChildProcess::wait_for_text(const std::string& text) {
  return wait_for([&] { return errors_so_far().find(text) != std::string::npos; });
}

ChildEnd ChildProcess::wait() {
  if (!reaped_) ::waitpid(process_, &status_, 0);
  reaped_ = true;
  return {.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -1,
          .signal = WIFSIGNALED(status_) ? WTERMSIG(status_) : 0,
          .out = content_of(captured_ + ".out"),
          .err = content_of(captured_ + ".err")};
}

ChildEnd run_child(const std::vector<std::string>& arguments, const std::string& folder, long file_limit) {
  return ChildProcess(arguments, folder, file_limit).wait();
}

}  // namespace plimsoll::test
