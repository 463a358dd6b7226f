#include "formats/corpus/line_reader.h"

#include <catch2/catch.hpp>

#include "formats/text/write_text_file.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  const TemporaryFolder folder;
  write_text_file(folder.file("x"), text);
  LineReader reader(std::move(*OpenFile::for_reading(folder.file("x"))));
  std::vector<std::string> lines;
  while (const auto line = reader.next()) {
    CHECK(line->number == static_cast<std::int64_t>(lines.size()) + 1);
    lines.emplace_back(line->too_long ? "too long" : std::string(line->text));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines end at line feeds, with or without a carriage return, the last one also without") {
  CHECK(lines_of("") == Lines{});
  CHECK(lines_of("a") == Lines{"a"});
  CHECK(lines_of("a\nb\n") == Lines{"a", "b"});
  CHECK(lines_of("a\r\n\r\nb\rc") == Lines{"a", "", "b\rc"});
  CHECK(lines_of("\n\n") == Lines{"", ""});
}

TEST_CASE("lines that reach over the ends of pieces are whole") {
  const std::size_t piece = std::size_t{1} << 20;
  for (const std::size_t length : {piece - 1, piece, piece + 1, 3 * piece}) {
    const std::string line(length, 'x');
    CHECK(lines_of(line + "\ny\n" + line) == Lines{line, "y", line});
  }
}

TEST_CASE("a line beyond the longest is told as such, and what follows it is read") {
  const std::string huge(LineReader::kLongestLine + (std::size_t{3} << 20), 'x');
  CHECK(lines_of("a\n" + huge + "\nb") == Lines{"a", "too long", "b"});
  CHECK(lines_of(huge) == Lines{"too long"});
}

}  // namespace plimsoll
