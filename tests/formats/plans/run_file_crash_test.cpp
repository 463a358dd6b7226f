#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <functional>

#include "formats/runs/database.h"
#include "formats/runs/run_file.h"
#include "formats/runs/run_file_lock.h"
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

TEST_CASE("a killed run's file is read where nothing may be written, or refused with what to do") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run 100%?.plimsoll");
  REQUIRE(in_child([&]() -> int {
            RunFileWriter writer(path, {.kind = "run"});
            writer.add_log(line(7));
            writer.flush();
            ::_exit(42);
          }) == 42);
  const auto as_reader = [&](const std::function<int(const Result<RunFile>&)>& look) {
    return in_child([&] {
      ::chmod(folder.path().c_str(), 0555);
      if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
      return look(read_run_file(path));
    });
  };
  SECTION("a file that one may not read is said to be so") {
    ::chmod(path.c_str(), 0000);
    CHECK(as_reader([](const auto& file) { return !file && file.error().what == "the file cannot be opened for reading" ? 42 : 2; }) == 42);
  }
  SECTION("with all companions, what was committed is there") {
    CHECK(as_reader([](const auto& file) { return file && file->log.size() == 1 ? 42 : 2; }) == 42);
  }
  SECTION("with the log alone, recovery needs a folder that may be written, and the error says so") {
    std::filesystem::remove(path + "-shm");
    CHECK(as_reader([](const auto& file) {
            return !file && file.error().remedy.find("copy both files") != std::string::npos ? 42 : 2;
          }) == 42);
    ::chmod(folder.path().c_str(), 0755);
    const auto here = read_run_file(path);
    REQUIRE((here ? "" : here.error().text()) == "");
    CHECK(here->log.size() == 1);
  }
  SECTION("a file that was moved into its place whole needs no companion") {
    {
      Database database(path, Database::Mode::kCreate);
      database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    for (const char* companion : {"-wal", "-shm"}) std::filesystem::remove(path + companion);
    CHECK(as_reader([](const auto& file) { return file && file->log.size() == 1 ? 42 : 2; }) == 42);
  }
}

TEST_CASE("a run file has one writer at a time, and a dead one holds nothing") {
  const TemporaryFolder folder;
  const std::string path = folder.file("run.plimsoll");
  {
    const auto held = RunFileLock::acquire(path);
    REQUIRE(held);
    const auto second = RunFileLock::acquire(folder.path() + "/./run.plimsoll");
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == ErrorKind::kEnvironment);
    CHECK(second.error().what == "another run (process " + std::to_string(::getpid()) + ") is writing this run file");
    CHECK(RunFileLock::acquire(folder.file("other.plimsoll")));
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(in_child([&]() -> int {
          const auto held = RunFileLock::acquire(path);
          ::_exit(held ? 42 : 2);
        }) == 42);
  CHECK(std::filesystem::exists(path + ".lock"));
  CHECK(RunFileLock::acquire(path));
  CHECK_FALSE(RunFileLock::acquire("/no/such/folder/run.plimsoll"));
}

}  // namespace plimsoll::test
