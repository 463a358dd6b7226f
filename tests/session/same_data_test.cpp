#include <catch2/catch.hpp>

#include <fstream>

#include "tests/session/session_case.h"

namespace plimsoll::test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace

TEST_CASE("a run goes on with the data that it had, whatever its file is called, and with other data only when that is asked") {
  const TemporaryFolder folder;
  RunRequest first = small_request(folder, Family::kGpt2, 4);
  const std::string text = text_of(first.data);
  const std::vector<double> whole = losses_of(small_request(folder, Family::kGpt2, 8));
  first.output = folder.file("first.plimsoll");
  run_to_end(first);

  RunRequest next = first;
  next.schedule.end_step = 8;
  next.resume = checkpoint_of(first.output);
  next.output = folder.file("next.plimsoll");
  next.data = folder.file("same.txt");
  write(next.data, text);
  CHECK(losses_of(next) == std::vector<double>(whole.begin() + 4, whole.end()));

  next.replace = true;
  next.data = folder.file("other.txt");
  write(next.data, text.substr(0, text.size() - 1) + "#");  // as long
  const std::vector<std::string> before = files_in(folder);
  const auto refused = run_session(next, {}, std::atomic<bool>(false));
  REQUIRE(!refused);
  CHECK(refused.error().kind == ErrorKind::kInput);
  for (const std::string& word : {first.data, next.data, next.resume, std::string("--other-data")}) {
    CHECK_THAT(refused.error().text(), Catch::Contains(word));
  }
  CHECK(files_in(folder) == before);

  next.other_data = true;
  run_to_end(next);
  RunRequest last = next;  // what was written since names the new data
  last.other_data = false;
  last.resume = checkpoint_of(next.output);
  last.output = folder.file("last.plimsoll");
  last.schedule.end_step = 10;
  run_to_end(last);
  last.data = first.data;
  CHECK_FALSE(run_session(last, {}, std::atomic<bool>(false)));
}

}  // namespace plimsoll::test
