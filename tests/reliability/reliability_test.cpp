// The short form of what `./check --long` repeats (bench/reliability).
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/reliability/power_loss.h"
#include "tests/reliability/trial.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

void keeps_its_promise(Harm harm, std::uint64_t trials) {
  Trials all(PLIMSOLL_PROGRAM, PLIMSOLL_DISK_TROUBLE, PLIMSOLL_SAMPLE_TEXT);
  for (std::uint64_t seed = 1; seed <= trials; ++seed) {
    INFO(Trials::describe(harm, seed));
    const Verdict verdict = all.run(harm, seed);
    INFO(verdict.said);
    CHECK(verdict.promise == "kept");
  }
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a run that is killed at any moment goes on from what its durability promises, bit for bit") {
  keeps_its_promise(Harm::kKill, 4);
}

TEST_CASE("a run whose power goes at any moment goes on from what its durability promises, bit for bit") {
  keeps_its_promise(Harm::kPowerLoss, 4);
}

TEST_CASE("a run whose disk is full at any moment says so and goes on later from what its durability promises") {
  keeps_its_promise(Harm::kDiskFull, 3);
}

TEST_CASE("a run that comes to its user's quota at any moment names it and goes on later from what its durability promises") {
  keeps_its_promise(Harm::kOverQuota, 3);
}

TEST_CASE("a run whose disk fails at any moment says so and goes on later from what its durability promises") {
  keeps_its_promise(Harm::kIoError, 3);
}

TEST_CASE("the trials notice a disk that says it has written and has not") {
  Trials all(PLIMSOLL_PROGRAM, PLIMSOLL_DISK_TROUBLE, PLIMSOLL_SAMPLE_TEXT);
  int broken = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) broken += all.run(Harm::kLyingDisk, seed).kept() ? 0 : 1;
  CHECK(broken > 0);
}

TEST_CASE("a power loss keeps what was synced, and of the rest nothing for sure") {
  // Synced: "a" with 1024 times 'o'. Since then "a" was overwritten with 'n', and "b" was made and never synced. Over many seeds
  // each of the two sectors of "a" is seen old and new, "b" is seen and not seen, and nothing else ever is.
  bool seen_old = false, seen_new = false, seen_torn = false, seen_b = false, seen_no_b = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const TemporaryFolder root;
    const std::string folder = root.file("f"), log = root.file("l");
    std::filesystem::create_directory(folder);
    std::filesystem::create_directory(log);
    std::ofstream(folder + "/a") << std::string(1024, 'n');
    std::ofstream(folder + "/b") << "b";
    struct stat found {};
    REQUIRE(::stat((folder + "/a").c_str(), &found) == 0);
    std::ofstream(log + "/synced-" + std::to_string(found.st_ino)) << std::string(1024, 'o');
    std::ofstream(log + "/names") << found.st_ino << " a\n";
    lose_power(folder, log, seed);
    const std::string a = read(folder + "/a");
    REQUIRE(a.size() == 1024);
    for (const std::size_t sector : {0u, 512u}) {
      REQUIRE(a.substr(sector, 512) == std::string(512, a[sector]));
      REQUIRE((a[sector] == 'o' || a[sector] == 'n'));
    }
    seen_old = seen_old || a == std::string(1024, 'o');
    seen_new = seen_new || a == std::string(1024, 'n');
    seen_torn = seen_torn || a[0] != a[512];
    (std::filesystem::exists(folder + "/b") ? seen_b : seen_no_b) = true;
  }
  CHECK((seen_old && seen_new && seen_torn && seen_b && seen_no_b));
}

}  // namespace plimsoll::test
