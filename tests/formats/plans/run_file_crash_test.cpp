#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <functional>

#include "formats/runs/run_file.h"
#include "formats/runs/run_file_writer.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

/// Runs `work` in a process of its own and returns its exit status; the work ends that process itself or returns it.
int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

LogLine line(std::int64_t i) { return {Nanoseconds(i), "info", std::string(2000, 'x')}; }

}  // namespace

TEST_CASE("a run that dies in the middle of writing leaves all that was flushed, readable") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  const int status = in_child([&]() -> int {
    RunFileWriter writer(path, {.kind = "run"});
    for (std::int64_t i = 0; i < 100; ++i) writer.add_log(line(i));
    writer.flush();
    for (std::int64_t i = 100; i < 5000; ++i) writer.add_log(line(i));  // on their way to the disk
    ::_exit(42);
  });
  REQUIRE(status == 42);
  const Result<RunFile> file = read_run_file(path);
  REQUIRE((file ? "" : file.error().text()) == "");
  CHECK_FALSE(file->finished);
  REQUIRE(file->log.size() >= 100);
  for (std::size_t i = 0; i < file->log.size(); ++i) CHECK(file->log[i] == line(static_cast<std::int64_t>(i)));
}

TEST_CASE("a full disk is an EnvironmentError, and what was committed before stays readable") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};  // no file may grow beyond 1 MiB
    ::setrlimit(RLIMIT_FSIZE, &limit);
    RunFileWriter writer(path, {.kind = "run"});
    for (std::int64_t i = 0; i < 10; ++i) writer.add_log(line(i));
    writer.flush();
    try {
      for (std::int64_t i = 10; i < 5000; ++i) writer.add_log(line(i));  // 10 MB
      writer.flush();
    } catch (const EnvironmentError& error) {
      return error.error().where == path && error.error().kind == ErrorKind::kEnvironment ? 42 : 2;
    }
    return 3;
  });
  REQUIRE(status == 42);
  const Result<RunFile> file = read_run_file(path);
  REQUIRE((file ? "" : file.error().text()) == "");
  CHECK_FALSE(file->finished);
  CHECK(file->log.size() == 10);
}

}  // namespace plimsoll::test
