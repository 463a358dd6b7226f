#include "core/base/quantity.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

TEST_CASE("parse_bytes reads binary units as powers of 1024 and decimal units as powers of 1000") {
  CHECK(parse_bytes("16GiB").value() == Bytes(std::int64_t{16} << 30));
  CHECK(parse_bytes("2TB").value() == Bytes(2'000'000'000'000));
  CHECK(parse_bytes("1.5 MiB").value() == Bytes(1'572'864));  // 1.5 · 1048576
  CHECK(parse_bytes("4096").value() == Bytes(4096));
  CHECK(parse_bytes("32G").value() == Bytes(32'000'000'000));
  CHECK(parse_bytes("1.5T").value() == Bytes(1'500'000'000'000));
  CHECK(parse_bytes("32gib").value() == parse_bytes("32GiB").value());
  CHECK(parse_bytes("32 gb").value() == parse_bytes("32GB").value());
  CHECK_FALSE(parse_bytes("32Gb"));  // bits, elsewhere
}

TEST_CASE("parse_bytes refuses what is no size and says how to write one") {
  for (const char* text : {"", "GiB", "16 parsecs", "-1GiB", "1e300TB", "nan", "inf", "16GiB extra"}) {
    const auto size = parse_bytes(text);
    INFO(text);
    REQUIRE_FALSE(size);
    CHECK(size.error().kind == ErrorKind::kInput);
    CHECK(size.error().remedy.find("16GiB") != std::string::npos);
  }
}

TEST_CASE("align_up never shrinks and stops at the next multiple") {
  CHECK(align_up(Bytes(0), Bytes(256)) == Bytes(0));
  CHECK(align_up(Bytes(1), Bytes(256)) == Bytes(256));
  CHECK(align_up(Bytes(256), Bytes(256)) == Bytes(256));
  CHECK(align_up(Bytes(257), Bytes(256)) == Bytes(512));
}

TEST_CASE("quantities are written in the unit that a person would choose") {
  CHECK(to_text(Bytes(17)) == "17 B");
  CHECK(to_text(Bytes(6'023'741'440)) == "5.61 GiB");  // 6023741440 / 2^30 = 5.6100
  CHECK(to_text(Nanoseconds(870)) == "870 ns");
  CHECK(to_text(Nanoseconds(3'120'000'000)) == "3.120 s");
}
