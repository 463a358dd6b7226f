#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

const std::string kTask = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

}  // namespace

TEST_CASE("pack writes its input's columns with offsets, to a file or to standard output") {
  const TemporaryFolder folder;
  write_file(folder.file("task.csv"), kTask);
  const ChildEnd printed = plimsoll_in(folder, {"pack", "task.csv", "--capacity", "12"});
  CHECK(printed.code == 0);
  CHECK(printed.out.starts_with("id,lower,upper,size,offset\nb1,0,3,4,"));
  CHECK(plimsoll_in(folder, {"pack", "task.csv", "--capacity", "12", "--out", "packed.csv"}).out.empty());
  CHECK(read_whole(folder.file("packed.csv")) == printed.out);
}

TEST_CASE("pack ends with 3 and names the buffers that collide when they do not fit") {
  const TemporaryFolder folder;
  write_file(folder.file("task.csv"), kTask);
  const ChildEnd end = plimsoll_in(folder, {"pack", "task.csv", "--capacity", "11", "--json"});
  CHECK(end.code == 3);
  CHECK(nlohmann::json::parse(end.out)["verdict"] == "does_not_fit");
  CHECK(end.err.find("1 too many: b1 (4) b3 (4) b5 (4)") != std::string::npos);
}

TEST_CASE("pack replaces a table of buffers, but no other file, and nothing that is no file") {
  const TemporaryFolder folder;
  write_file(folder.file("task.csv"), kTask);
  CHECK(plimsoll_in(folder, {"pack", "task.csv", "--out", "task.csv"}).code == 0);
  CHECK(read_whole(folder.file("task.csv")).starts_with("id,lower,upper,size,offset\n"));
  write_file(folder.file("notes.txt"), "dear diary\n");
  const ChildEnd end = plimsoll_in(folder, {"pack", "task.csv", "--out", "notes.txt"});
  CHECK(end.code == 2);
  CHECK(end.err.find("holds no table of buffers") != std::string::npos);
  CHECK(read_whole(folder.file("notes.txt")) == "dear diary\n");
  REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
  CHECK(plimsoll_in(folder, {"pack", "task.csv", "--out", "pipe"}).err.find("a device, a pipe") != std::string::npos);
}

}  // namespace plimsoll::test
