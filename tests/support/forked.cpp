#include "tests/support/forked.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>

namespace plimsoll {
namespace {

constexpr int kNotPermitted = 77;

void write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(descriptor, text.data() + done, text.size() - done);
    if (put <= 0) return;
    done += static_cast<std::size_t>(put);
  }
}

std::string read_all(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(descriptor, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

/// As root, or as the root of a user namespace of its own.
bool detach_mounts() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

std::optional<std::string> run_forked(const std::function<std::string()>& work, bool own_mounts) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(pipe[0]);
    if (own_mounts && !detach_mounts()) ::_exit(kNotPermitted);
    try {
      write_all(pipe[1], work());
    } catch (const std::exception& failure) {
      write_all(pipe[1], failure.what());
    }
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::string text = read_all(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return ended ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

std::optional<std::string> in_child(const std::function<std::string()>& work) { return run_forked(work, false); }

std::optional<std::string> in_own_mounts(const std::function<std::string()>& work) { return run_forked(work, true); }

}  // namespace plimsoll
