#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/trace/recording.h"

namespace plimsoll::test {

/// One reader of files under test. `read` takes any bytes: only the reader's answer may say no. A crash, an exception
/// that is no EnvironmentError of the file, an error without words or a value that contradicts itself ends the process.
struct Parser {
  std::string name;  ///< also of its folder of seeds under tests/fuzz/corpus
  void (*read)(std::string_view bytes);
};

/// All of them, by name.
const std::vector<Parser>& parsers();

/// The parts that they are gathered from.
std::vector<Parser> model_parsers();
std::vector<Parser> plan_parsers();
std::vector<Parser> table_parsers();
std::vector<Parser> text_parsers();
std::vector<Parser> recording_parsers();
std::vector<Parser> foreign_parsers();

/// What holds of every recording that a reader returned; then it is replayed.
void check_recording(const Recording& recording);

/// Ends the process when a law is broken.
inline void require(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", law);
  std::abort();
}

/// Whether there is a value; an error must have words.
template <typename Value>
bool has_value(const Result<Value>& result) {
  require(result || !result.error().what.empty(), "an error says what is wrong");
  return result.has_value();
}

}  // namespace plimsoll::test
