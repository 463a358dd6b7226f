#include "profiler/inject/profiled_program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "profiler/inject/profile_environment.h"

extern char** environ;

namespace plimsoll {
namespace {

std::atomic<pid_t> child{0};

/// The terminal sends its signals to the whole group; only what was sent to this process alone must go on.
extern "C" void pass_on(int signal, siginfo_t* info, void*) {
  const pid_t process = child;
  if (process > 0 && info != nullptr && info->si_code != SI_KERNEL) ::kill(process, signal);
}

constexpr int kPassed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/// While it lives, signals go on to the child.
class PassedSignals {
 public:
  PassedSignals() {
    struct sigaction action = {};
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < std::size(kPassed); ++i) ::sigaction(kPassed[i], &action, &before_[i]);
  }
  ~PassedSignals() {
    for (std::size_t i = 0; i < std::size(kPassed); ++i) ::sigaction(kPassed[i], &before_[i], nullptr);
  }
  PassedSignals(const PassedSignals&) = delete;
  PassedSignals& operator=(const PassedSignals&) = delete;

  /// What the program would have inherited.
  [[nodiscard]] const struct sigaction* before() const { return before_; }

 private:
  struct sigaction before_[std::size(kPassed)] = {};
};

bool sets_the_same(const char* entry, const std::string& variable) {
  const std::size_t name = variable.find('=') + 1;
  return std::string_view(entry).substr(0, name) == std::string_view(variable).substr(0, name);
}

/// This process's environment with these variables in it.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool replaced =
        std::any_of(variables.begin(), variables.end(), [&](const auto& v) { return sets_the_same(*entry, v); });
    if (!replaced) all.emplace_back(*entry);
  }
  all.insert(all.end(), variables.begin(), variables.end());
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

/// Starts the program; errno is what the exec said, 0 when it worked. A pipe that closes on exec carries it back.
int start(std::vector<std::string> command, std::vector<std::string> environment, const PassedSignals& signals) {
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return errno;
  const pid_t process = ::fork();
  if (process == 0) {
    for (std::size_t i = 0; i < std::size(kPassed); ++i) ::sigaction(kPassed[i], &signals.before()[i], nullptr);
    ::signal(SIGXFSZ, SIG_DFL);
    ::execvpe(arguments[0], arguments.data(), variables.data());
    const int why = errno;
    static_cast<void>(!::write(pipe_ends[1], &why, sizeof(why)));
    ::_exit(127);
  }
  const int fork_error = process < 0 ? errno : 0;
  ::close(pipe_ends[1]);
  int why = 0;
  const bool failed = process > 0 && ::read(pipe_ends[0], &why, sizeof(why)) == sizeof(why);
  ::close(pipe_ends[0]);
  if (process < 0) return fork_error;
  if (failed) {
    ::waitpid(process, nullptr, 0);
    return why;
  }
  child = process;
  return 0;
}

ProfiledEnd wait_for_end() {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .spools = {},
          .reasons = {}};
}

void collect_left(const std::string& folder, ProfiledEnd& end) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(kSpoolSuffix)) end.spools.push_back(path);
    if (!path.ends_with(kReasonSuffix)) continue;
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) end.reasons.push_back(line);
  }
  std::sort(end.spools.begin(), end.spools.end());
}

}  // namespace

std::vector<std::string> profile_environment(const ProfiledProgram& program) {
  std::vector<std::string> variables{"CUDA_INJECTION64_PATH=" + program.library, "NVTX_INJECTION64_PATH=" + program.library,
                                     std::string(kFolderVariable) + "=" + program.folder};
  if (!program.cupti.empty()) variables.push_back(std::string(kCuptiVariable) + "=" + program.cupti);
  return variables;
}

Result<ProfiledEnd> run_profiled(const ProfiledProgram& program) {
  const PassedSignals signals;
  if (const int why = start(program.command, environment_with(profile_environment(program)), signals); why != 0) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "cannot be started: " + std::system_category().message(why),
                 .where = program.command.front(),
                 .remedy = why == ENOENT ? "check the program's name, or give its path" : ""});
  }
  ProfiledEnd end = wait_for_end();
  collect_left(program.folder, end);
  return end;
}

}  // namespace plimsoll
