// scripts/gpu-checks with programs in place of ours that fail, hang or are missing; what a GPU would say is theirs to say.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

using namespace plimsoll;
using test::ChildEnd;
using test::run_child;

namespace {

const std::string kScript = std::string(PLIMSOLL_SOURCE) + "/scripts/gpu-checks";

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A packed folder whose programs are these shell scripts.
class Packed {
 public:
  Packed(const std::string& checks, const std::string& plimsoll) {
    const std::string inside = folder_.file("gpu-checks");
    std::filesystem::create_directories(inside + "/data/texts");
    std::filesystem::create_directories(inside + "/lib");
    write(inside + "/plimsoll-gpu-checks", checks);
    write(inside + "/plimsoll", plimsoll);
    write(inside + "/torch_step.py", "raise SystemExit(5)");
    const ChildEnd packed = run_child({"/bin/tar", "-C", folder_.path(), "-cJf", folder_.file("gpu-checks.tar.xz"), "gpu-checks"},
                                      folder_.path());
    REQUIRE(packed.code == 0);
  }
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  static void write(const std::string& path, const std::string& text) {
    std::ofstream(path) << "#!/bin/bash\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  TemporaryFolder folder_;
};

/// The script, run on a packed folder.
struct Ran {
  explicit Ran(const Packed& packed, const std::vector<std::string>& names = {}) {
    std::vector<std::string> words{"/bin/bash", kScript, out.path(), packed.path()};
    words.insert(words.end(), names.begin(), names.end());
    end = run_child(words, out.path());
  }
  TemporaryFolder out;
  ChildEnd end;
};

}  // namespace

TEST_CASE("the script ends with the checks' verdict, and keeps what each part printed") {
  const Packed packed("echo findings; echo trouble >&2; exit 1", "echo \"$1\"; echo said >&2");
  const Ran ran(packed);
  CHECK(ran.end.code == 1);
  const std::string table = content_of(ran.out.file("table.txt"));
  CHECK(table.starts_with("findings\n"));
  CHECK(table.find("run --backend cuda: exit code 0") != std::string::npos);
  CHECK(table.find("two GPUs: ") != std::string::npos);
  CHECK(table.find("PyTorch's compiled step") != std::string::npos);
  CHECK(table.find("compute-sanitizer") != std::string::npos);
  const std::string log = content_of(ran.out.file("log.txt"));
  CHECK(log.find("trouble") != std::string::npos);
  CHECK(log.find("=== run --backend cpu\nsaid") != std::string::npos);
  CHECK(content_of(ran.out.file("machine.txt")).find("doctor") != std::string::npos);
}

TEST_CASE("a program that fails where checks pass is a failure of the script") {
  const Packed good("exit 0", "exit 0"), bad("exit 0", "[ \"$1\" != run ] || exit 3");
  CHECK(Ran(good).end.code == 0);
  const Ran ran(bad);
  CHECK(ran.end.code == 1);
  CHECK(content_of(ran.out.file("table.txt")).find("run --backend cuda: exit code 3") != std::string::npos);
}

TEST_CASE("without a GPU the script ends at once with 77, and with 4 where it has nothing to run") {
  const Packed none("echo 'skipped  kernels'; exit 77", "touch \"$0\"; [ \"$1\" != run ] || exit 9");
  const Ran ran(none);
  CHECK(ran.end.code == 77);
  CHECK(content_of(ran.out.file("table.txt")) == "skipped  kernels\n");
  const TemporaryFolder empty, out;
  CHECK(run_child({"/bin/bash", kScript, out.path(), empty.path()}, out.path()).code == 4);
}

TEST_CASE("checks and parts that are named run alone") {
  const Packed packed("shift 2; echo \"names: $*\"", "exit 0");
  CHECK(content_of(Ran(packed, {"graphs", "peak"}).out.file("table.txt")) == "names: graphs peak\n");
  const Ran part(packed, {"run"});
  CHECK(part.end.code == 0);
  CHECK(content_of(part.out.file("table.txt")) == "run --backend cuda: exit code 0\nrun --backend cpu: exit code 0\n");
}

TEST_CASE("our libraries are seen by our programs, and by no other") {
  const Packed packed("echo \"ours: $LD_LIBRARY_PATH\"; exit 1", "echo \"ours: $LD_LIBRARY_PATH\"");
  ::setenv("LD_LIBRARY_PATH", "/theirs", 1);
  const Ran ran(packed);
  ::unsetenv("LD_LIBRARY_PATH");
  const std::string seen = content_of(ran.out.file("table.txt"));
  CHECK(seen.find("/gpu-checks/lib:") != std::string::npos);
  CHECK(seen.find(":/theirs\n") != std::string::npos);
  CHECK(content_of(ran.out.file("run-cuda.json")).find("/gpu-checks/lib:") != std::string::npos);
}
