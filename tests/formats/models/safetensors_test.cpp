#include "formats/models/safetensors.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "formats/models/half_floats.h"
#include "formats/models/safetensors_file.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

/// Parses a header text as that of a file with `data` bytes behind it.
Result<SafetensorsHeader> parse(std::string_view header, std::int64_t data) {
  return parse_safetensors_header(header, Bytes(8 + static_cast<std::int64_t>(header.size()) + data), "x.safetensors");
}

TEST_CASE("a header gives every tensor's type, shape and place, in the order of the data") {
  const std::string text = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
                           R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";
  const auto header = parse(text, 16);
  REQUIRE(header);
  REQUIRE(header->tensors.size() == 2);
  CHECK(header->tensors[0].name == "a");
  CHECK(header->tensors[0].elements == 1);
  CHECK(header->tensors[0].offset == Bytes(8 + static_cast<std::int64_t>(text.size())));
  CHECK(header->tensors[1].type == StoredType::kBf16);
  CHECK(header->tensors[1].shape == std::vector<std::int64_t>{2, 3});
  CHECK(header->tensors[1].bytes == Bytes(12));
  CHECK(header->metadata == std::map<std::string, std::string>{{"format", "pt"}});
  CHECK(header->find("b") == &header->tensors[1]);
  CHECK(header->find("c") == nullptr);
}

TEST_CASE("empty tensors, packed types and trailing spaces are allowed") {
  CHECK(parse(R"({"z":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1));
  CHECK(parse(R"({"q":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}})", 2));  // 4 · 4 bits = 2 bytes
  CHECK(parse("{}      ", 0));
}

TEST_CASE("a header that does not describe its file is refused") {
  const std::pair<const char*, std::int64_t> headers[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 7},                       // cut short
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9},                       // bytes nobody owns
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12},                     // a hole at the start
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4},                       // 2 · 4 bytes, not 4
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8},                       // end before begin
      {R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8},                       // no such type
      {R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2},                        // 12 bits
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8},                      // negative size
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8},                     // not a whole number
      {R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8},                         // not an array
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8},                         // one offset
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8},                                            // no offsets
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8},                 // a key too many
      {R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0},    // 2^64 wraps to 0
      {R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,0]}})", 0},      // beyond int64
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", 3},
      {R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2},
      {R"({"__metadata__":{"k":1}})", 0},
      {R"({"a":3})", 0},
      {"[]", 0},
      {" {}", 0},
      {"", 0},
  };
  for (const auto& [text, data] : headers) {
    CAPTURE(text);
    CHECK_FALSE(parse(text, data));
  }
}

TEST_CASE("errors of a broken file say where and what was expected") {
  const ScratchFolder folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";  // 54 bytes
  REQUIRE(header.size() == 54);
  const auto error = [&](const std::string& bytes) {
    return read_safetensors_header(folder.file("x.safetensors", bytes)).error();
  };
  CHECK(error("abc").what == "expected at least 8 bytes, the file has 3");
  CHECK(error(safetensors_bytes(header, "").substr(0, 30)).what ==
        "the header should have 54 bytes, but only 22 follow: the file is truncated");
  CHECK(error(safetensors_bytes(header, "12345")).what ==
        "tensor 'a' ends at byte 70, but the file has 67 bytes: it is truncated");
  CHECK(error("plain text, not tensors").what.find("not a safetensors file") != std::string::npos);
  CHECK(read_safetensors_header(folder.path()).error().kind == ErrorKind::kInput);
  CHECK(read_safetensors_header(folder.path() / "none").error().kind == ErrorKind::kInput);
}

TEST_CASE("bf16 conversion is exact one way and rounds to nearest, ties to even, the other") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float_from_bf16(static_cast<std::uint16_t>(bits));
    if (!std::isnan(value)) REQUIRE(bf16_from_float(value) == bits);
  }
  CHECK(bf16_from_float(std::bit_cast<float>(0x3f808000u)) == 0x3f80);  // a tie goes to the even 0x3f80
  CHECK(bf16_from_float(std::bit_cast<float>(0x3f818000u)) == 0x3f82);  // a tie goes to the even 0x3f82
  CHECK(bf16_from_float(std::bit_cast<float>(0x3f808001u)) == 0x3f81);  // just above the tie
  CHECK(bf16_from_float(std::numeric_limits<float>::max()) == 0x7f80);  // rounds up to infinity
  CHECK(std::isnan(float_from_bf16(bf16_from_float(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(float_from_bf16(bf16_from_float(std::bit_cast<float>(0x7f800001u)))));  // a NaN in the low bits only
}

TEST_CASE("fp16 conversion covers normals, subnormals, infinities and NaN") {
  CHECK(float_from_fp16(0x3c00) == 1.0f);
  CHECK(float_from_fp16(0xc000) == -2.0f);
  CHECK(float_from_fp16(0x7bff) == 65504.0f);     // (2 − 2^-10) · 2^15
  CHECK(float_from_fp16(0x0400) == 0x1p-14f);     // smallest normal
  CHECK(float_from_fp16(0x0001) == 0x1p-24f);     // smallest subnormal
  CHECK(float_from_fp16(0x83ff) == -1023 * 0x1p-24f);
  CHECK(std::signbit(float_from_fp16(0x8000)));
  CHECK(float_from_fp16(0xfc00) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(float_from_fp16(0x7e01)));
}

TEST_CASE("a tensor is read in pieces and converted; other types and ranges beyond it are refused") {
  const ScratchFolder folder;
  const std::string header = R"({"f":{"dtype":"F16","shape":[3],"data_offsets":[0,6]},"i":{"dtype":"I32","shape":[1],"data_offsets":[6,10]}})";
  const std::string data("\x00\x3c\x00\x40\x00\xc2\x07\x00\x00\x00", 10);  // 1, 2, −3; 7
  const auto file = SafetensorsFile::open(folder.file("x.safetensors", safetensors_bytes(header, data)));
  REQUIRE(file);
  const SafetensorsTensor& halves = *file->header().find("f");
  const SafetensorsTensor& whole = *file->header().find("i");
  std::vector<float> out(2);
  REQUIRE(file->read(halves, 1, out));
  CHECK(out == std::vector<float>{2.0f, -3.0f});
  CHECK_FALSE(file->read(halves, 2, out));
  CHECK_FALSE(file->read(halves, -1, out));
  CHECK_FALSE(file->read(whole, 0, std::span(out).first(1)));
  std::int32_t seven = 0;
  REQUIRE(file->read_bytes(whole, Bytes(0), std::as_writable_bytes(std::span(&seven, 1))));
  CHECK(seven == 7);
  CHECK_FALSE(file->read_bytes(whole, Bytes(1), std::as_writable_bytes(std::span(&seven, 1))));
}

TEST_CASE("a file that is cut while it is open raises an environment error") {
  const ScratchFolder folder;
  const auto path = folder.file("x.safetensors", safetensors_bytes(R"({"f":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678"));
  const auto file = SafetensorsFile::open(path);
  REQUIRE(file);
  std::filesystem::resize_file(path, 64);
  std::vector<float> out(2);
  CHECK_THROWS_AS(file->read(file->header().tensors[0], 0, out), EnvironmentError);
}

}  // namespace
}  // namespace plimsoll
