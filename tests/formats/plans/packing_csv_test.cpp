#include "formats/plans/packing_csv.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

std::string refusal(const std::string& text) {
  const auto file = read_packing_csv(text, "f.csv");
  REQUIRE_FALSE(file);
  return file.error().text();
}

}  // namespace

TEST_CASE("read_packing_csv reads what must and what may be said of a buffer") {
  const auto file = read_packing_csv(
      "id,lower,upper,size,alignment,offset,gaps,hint,note\nx,-5,9,64,32,96,-3-0 4-6,7,kept\ny,0,1,8,,,,,\n", "f.csv");
  REQUIRE(file);
  REQUIRE(file->task.size() == 2);
  const TaskBuffer& x = file->task[0];
  CHECK(x.life == TimeSpan{-5, 9});
  CHECK(x.size == Bytes(64));
  CHECK(x.alignment == Bytes(32));
  CHECK(x.offset == Bytes(96));
  CHECK(x.gaps == std::vector<TimeSpan>{{-3, 0}, {4, 6}});
  CHECK(x.hint == Bytes(7));
  CHECK(x.spans_in_use() == std::vector<TimeSpan>{{-5, -3}, {0, 4}, {6, 9}});
  CHECK(file->task[1].alignment == Bytes(1));
  CHECK_FALSE(file->task[1].offset);
}

TEST_CASE("write_packing_csv keeps the input's columns and adds or fills the offset") {
  const auto plain = read_packing_csv("id,lower,upper,size\n\"a,1\",0,1,8\n", "f.csv");
  REQUIRE(plain);
  CHECK(write_packing_csv(*plain, std::vector<Bytes>{Bytes(16)}) == "id,lower,upper,size,offset\n\"a,1\",0,1,8,16\n");
  const auto fixed = read_packing_csv("id,offset,lower,upper,size\na,,0,1,8\n", "f.csv");
  REQUIRE(fixed);
  CHECK(write_packing_csv(*fixed, std::vector<Bytes>{Bytes(16)}) == "id,offset,lower,upper,size\na,16,0,1,8\n");
}

TEST_CASE("read_packing_csv names the line and the column of what is wrong") {
  CHECK(refusal("id,lower,upper\na,0,1\n").find("no column 'size'") != std::string::npos);
  CHECK(refusal("dear diary\n").find("no column 'id'") != std::string::npos);
  CHECK(refusal("id,lower,upper,size\na,0,1,8\nb,3,3,8\n").find("f.csv:3") != std::string::npos);
  CHECK(refusal("id,lower,upper,size\na,0,1,-8\n").find("'size': -8 is not between") != std::string::npos);
  CHECK(refusal("id,lower,upper,size\na,0,1.5,8\n").find("no whole number") != std::string::npos);
  CHECK(refusal("id,lower,upper,size\na,0,1,99999999999999999999\n").find("no whole number") != std::string::npos);
  CHECK(refusal("id,lower,upper,size\na,0,1,8\na,0,1,8\n").find("stands in two rows") != std::string::npos);
  CHECK(refusal("id,lower,upper,size,alignment\na,0,1,8,0\n").find("'alignment'") != std::string::npos);
  CHECK(refusal("id,lower,upper,size,alignment,offset\na,0,1,8,16,24\n").find("no multiple") != std::string::npos);
  CHECK(refusal("id,lower,upper,size,gaps\na,0,9,8,3-12\n").find("'gaps'") != std::string::npos);
  const std::string huge = ",0,1,900000000000000000\n";
  CHECK(refusal("id,lower,upper,size\na" + huge + "b" + huge).find("exbibyte") != std::string::npos);
}
