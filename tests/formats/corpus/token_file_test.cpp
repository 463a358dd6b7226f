#include "formats/corpus/token_file.h"

#include <catch2/catch.hpp>

#include "formats/text/read_text_file.h"
#include "formats/text/write_text_file.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

std::string bytes_of(const std::string& path) { return read_text_file(path, Bytes(1 << 20)).value(); }

Result<std::optional<TokenFileNote>> note_of(const std::string& path) {
  return read_token_file_note(*OpenFile::for_reading(path), path);
}

void write(const std::string& path, std::int64_t vocabulary, const std::vector<std::int32_t>& tokens,
           const std::vector<bool>& counts, std::int64_t row = 0) {
  TokenFileWriter writer(path, vocabulary, row, "0123456789abcdef");
  writer.append(tokens, counts);
  writer.finish();
}

}  // namespace

TEST_CASE("the first bytes are the tokens, two bytes each or four, and a bit each follows where not all count") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.bin");
  write(path, 65536, {1, 258, 65535}, {true, false, true});
  CHECK(bytes_of(path).substr(0, 7) == std::string("\x01\x00\x02\x01\xFF\xFF\x05", 7));  // mask 101 from the lowest bit on
  CHECK(bytes_of(path).size() == 7 + kTokenFileNoteBytes);
  write(path, 65537, {1, 65536}, {true, true});
  CHECK(bytes_of(path).substr(0, 8) == std::string("\x01\x00\x00\x00\x00\x00\x01\x00", 8));
  CHECK(bytes_of(path).size() == 8 + kTokenFileNoteBytes);
}

TEST_CASE("the note reads back") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.bin");
  write(path, 1000, {1, 2, 3, 4, 5, 6}, {true, false, true, true, false, true}, 3);
  const auto note = note_of(path).value().value();
  CHECK(note.width == 2);
  CHECK(note.tokens == 6);
  CHECK(note.counted == 4);
  CHECK(note.vocabulary == 1000);
  CHECK(note.row == 3);
  CHECK(note.masked);
  CHECK(note.tokenizer == "0123456789abcdef");
}

TEST_CASE("a file without a note is none; one that was cut or changed, or of another version, is refused") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.bin");
  write_text_file(path, std::string(500, 'x'));
  CHECK_FALSE(note_of(path).value());
  write_text_file(path, "");
  CHECK_FALSE(note_of(path).value());
  write(path, 1000, {1, 2, 3}, {true, true, true});
  const std::string whole = bytes_of(path);
  write_text_file(path, whole.substr(2));
  CHECK_THAT(note_of(path).error().what, Catch::Contains("cut or changed"));
  const std::size_t note = whole.size() - kTokenFileNoteBytes;
  for (std::size_t field = 0; field < 6; ++field) {  // but for the vocabulary, all must fit
    if (field == 4) continue;
    std::string changed = whole;
    changed[note + 16 + field * 8 + 7] = '\x7F';
    write_text_file(path, changed);
    CHECK_FALSE(note_of(path));
  }
}

TEST_CASE("what was not finished leaves nothing, and what was there stays") {
  const TemporaryFolder folder;
  const std::string path = folder.file("tokens.bin");
  write_text_file(path, "old");
  {
    TokenFileWriter writer(path, 100, 0, "");
    writer.append(std::vector<std::int32_t>{1, 2}, {true, true});
  }
  CHECK(bytes_of(path) == "old");
  CHECK_FALSE(std::filesystem::exists(path + ".tmp"));
}

}  // namespace plimsoll
