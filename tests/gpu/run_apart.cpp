#include "tests/gpu/run_apart.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

namespace plimsoll::gpu {
namespace {

using Clock = std::chrono::steady_clock;

/// A process that was killed while its device works may take so long to go.
constexpr double kLastBreath = 20;
constexpr std::chrono::milliseconds kLook{20};

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Hands out whole lines of what a pipe brings.
class Lines {
 public:
  Lines(int pipe, const std::function<void(const std::string&)>& hear) : pipe_(pipe), hear_(hear) {}

  /// Waits at most `milliseconds`; false at the end.
  bool read(int milliseconds) {
    pollfd ready{.fd = pipe_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, milliseconds) <= 0) return true;
    char bytes[4096];
    const ssize_t count = ::read(pipe_, bytes, sizeof(bytes));
    if (count < 0) return errno == EINTR || errno == EAGAIN;
    rest_.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      hear_(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    return count > 0;
  }

 private:
  int pipe_;
  const std::function<void(const std::string&)>& hear_;
  std::string rest_;
};

[[noreturn]] void become(const std::vector<char*>& words, int out, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it was gone before that
  ::dup2(out, STDOUT_FILENO);
  ::execv(words[0], words.data());
  ::_exit(127);
}

/// A process in the driver may not hear even this at once; it is left alone then.
bool wait_for(pid_t process, double seconds, int& status) {
  const auto start = Clock::now();
  while (true) {
    const pid_t gone = ::waitpid(process, &status, WNOHANG);
    if (gone == process) return true;
    if (gone < 0 && errno != EINTR) return false;
    if (seconds_since(start) > seconds) return false;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

ApartEnd run_apart(const std::vector<std::string>& command, double seconds, const std::function<void(const std::string&)>& hear) {
  std::vector<std::string> texts = command;
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const auto start = Clock::now();
  const pid_t parent = ::getpid(), process = ::fork();
  if (process == 0) become(words, ends[1], parent);
  ::close(ends[1]);
  ApartEnd end;
  Lines lines(ends[0], hear);
  bool open = process > 0;
  while (open && !end.too_long) {
    open = lines.read(100);
    end.too_long = seconds_since(start) > seconds;
  }
  int status = 0;
  if (process > 0) {
    if (!end.too_long) end.too_long = !wait_for(process, std::max(0.0, seconds - seconds_since(start)), status);
    if (end.too_long) {
      ::kill(process, SIGKILL);
      wait_for(process, kLastBreath, status);
    }
  }
  ::close(ends[0]);
  end.seconds = seconds_since(start);
  if (process > 0 && !end.too_long && WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (process > 0 && !end.too_long && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

std::string to_text(const ApartEnd& end) {
  if (end.too_long) return fmt::format("not done after {:.0f} s: ended", end.seconds);
  if (end.signal != 0) return fmt::format("ended by signal {} ({})", end.signal, ::strsignal(end.signal));
  return end.code < 0 ? "did not start" : fmt::format("exit code {}", end.code);
}

}  // namespace plimsoll::gpu
