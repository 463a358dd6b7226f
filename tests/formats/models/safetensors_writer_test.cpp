#include "formats/models/safetensors_writer.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "formats/models/half_floats.h"
#include "formats/models/safetensors_file.h"
#include "tests/formats/models/scratch_folder.h"

namespace plimsoll {
namespace {

std::vector<float> ramp(std::size_t count, float first) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_CASE("what is written is read back: names, shapes, metadata and values, in pieces of any size") {
  const ScratchFolder folder;
  const auto path = folder.path() / "x.safetensors";
  const auto a = ramp(6, 1.0f);
  const auto b = ramp(200'001, -7.0f);
  auto writer = SafetensorsWriter::create(
      path, {.type = StoredType::kF32,
             .tensors = {{.name = "a", .shape = {2, 3}}, {.name = "empty", .shape = {0}}, {.name = "b", .shape = {200'001}}},
             .metadata = {{"format", "pt"}, {"quote\"", "ü"}}});
  REQUIRE(writer);
  REQUIRE(writer->append("a", std::span(a).first(1)));
  REQUIRE(writer->append("a", std::span(a).subspan(1)));
  REQUIRE(writer->append("b", b));
  REQUIRE(writer->finish());
  CHECK(folder.names() == std::set<std::string>{"x.safetensors"});

  const auto file = SafetensorsFile::open(path);
  REQUIRE(file);
  CHECK(file->header().metadata == std::map<std::string, std::string>{{"format", "pt"}, {"quote\"", "ü"}});
  CHECK(file->header().find("a")->shape == std::vector<std::int64_t>{2, 3});
  CHECK(file->header().find("a")->offset.count % 8 == 0);
  std::vector<float> out(b.size());
  REQUIRE(file->read(*file->header().find("b"), 0, out));
  CHECK(out == b);
}

TEST_CASE("bf16 files hold every value rounded, across pieces") {
  const ScratchFolder folder;
  const auto path = folder.path() / "x.safetensors";
  auto values = ramp(150'000, 0.5f);
  auto writer = SafetensorsWriter::create(path, {.type = StoredType::kBf16, .tensors = {{.name = "v", .shape = {150'000}}}, .metadata = {}});
  REQUIRE(writer);
  REQUIRE(writer->append("v", values));
  REQUIRE(writer->finish());
  const auto file = SafetensorsFile::open(path);
  REQUIRE(file);
  CHECK(file->header().tensors[0].bytes == Bytes(300'000));
  std::vector<float> out(values.size());
  REQUIRE(file->read(file->header().tensors[0], 0, out));
  for (float& value : values) value = float_from_bf16(bf16_from_float(value));
  CHECK(out == values);
}

TEST_CASE("an unfinished writer leaves the older file as it was and no other file behind") {
  const ScratchFolder folder;
  const auto path = folder.file("x.safetensors", "older");
  {
    auto writer = SafetensorsWriter::create(path, {.type = StoredType::kF32, .tensors = {{.name = "a", .shape = {2}}}, .metadata = {}});
    REQUIRE(writer);
    REQUIRE(writer->append("a", ramp(1, 1.0f)));
    CHECK(folder.names() == std::set<std::string>{"x.safetensors", "x.safetensors.tmp"});
    CHECK(writer->finish().error().kind == ErrorKind::kDefect);
  }
  CHECK(folder.names() == std::set<std::string>{"x.safetensors"});
  CHECK(bytes_of(path) == "older");
}

TEST_CASE("a finished writer replaces the older file") {
  const ScratchFolder folder;
  const auto path = folder.file("x.safetensors", "older");
  auto writer = SafetensorsWriter::create(path, {.type = StoredType::kF32, .tensors = {{.name = "a", .shape = {1}}}, .metadata = {}});
  REQUIRE(writer);
  REQUIRE(writer->append("a", ramp(1, 1.0f)));
  REQUIRE(writer->finish());
  CHECK(read_safetensors_header(path));
}

TEST_CASE("values out of turn, too many, or after the end are defects") {
  const ScratchFolder folder;
  auto writer = SafetensorsWriter::create(
      folder.path() / "x", {.type = StoredType::kF32,
                            .tensors = {{.name = "a", .shape = {2}}, {.name = "b", .shape = {1}}}, .metadata = {}});
  REQUIRE(writer);
  CHECK(writer->append("b", ramp(1, 0)).error().kind == ErrorKind::kDefect);
  CHECK(writer->append("a", ramp(3, 0)).error().kind == ErrorKind::kDefect);
  CHECK(writer->append("a", ramp(2, 0)));
  CHECK(writer->append("b", ramp(1, 0)));
  CHECK(writer->append("b", ramp(1, 0)).error().kind == ErrorKind::kDefect);
  CHECK(writer->finish());
}

TEST_CASE("a plan that no file can hold is refused before a file is made") {
  const ScratchFolder folder;
  const auto create = [&](SafetensorsPlan plan) { return SafetensorsWriter::create(folder.path() / "x", std::move(plan)); };
  CHECK_FALSE(create({.type = StoredType::kI32, .tensors = {}, .metadata = {}}));
  CHECK_FALSE(create({.type = StoredType::kF32, .tensors = {{.name = "a", .shape = {1}}, {.name = "a", .shape = {1}}}, .metadata = {}}));
  CHECK_FALSE(create({.type = StoredType::kF32, .tensors = {{.name = "__metadata__", .shape = {1}}}, .metadata = {}}));
  CHECK_FALSE(create({.type = StoredType::kF32, .tensors = {{.name = "a", .shape = {-1}}}, .metadata = {}}));
  CHECK_FALSE(create({.type = StoredType::kF32, .tensors = {{.name = "a", .shape = {1 << 30, 1 << 30}}}, .metadata = {}}));
  CHECK(folder.names().empty());
}

TEST_CASE("a folder that is missing, or a folder in the way, raises an environment error and leaves nothing") {
  const ScratchFolder folder;
  const SafetensorsPlan empty;
  CHECK_THROWS_AS(SafetensorsWriter::create(folder.path() / "none" / "x", empty), EnvironmentError);
  std::filesystem::create_directories(folder.path() / "x" / "inner");
  {
    auto writer = SafetensorsWriter::create(folder.path() / "x", empty);
    REQUIRE(writer);
    CHECK_THROWS_AS(writer->finish(), EnvironmentError);
  }
  CHECK(folder.names() == std::set<std::string>{"x"});
}

}  // namespace
}  // namespace plimsoll
