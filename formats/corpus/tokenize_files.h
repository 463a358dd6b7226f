#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/corpus/line_example.h"
#include "formats/corpus/token_file.h"

namespace plimsoll {

/// How the lines of a file are read.
enum class CorpusKind { kByName, kText, kLines };

/// What to do with files of text.
struct TokenizeRequest {
  std::vector<std::filesystem::path> files;
  std::filesystem::path output;
  CorpusKind kind = CorpusKind::kByName;  ///< by name: .jsonl and .ndjson hold lines, anything else is one text
  LineRules rules;
  std::int64_t sequence = 0;  ///< not 0: packed rows for training on sequences of so many tokens
  bool skip_bad = false;      ///< a line that cannot be used is counted and left out
  std::function<void(double share)> on_progress;  ///< how much of the files was read, from 0 to 1
  const std::atomic<bool>* stop = nullptr;        ///< when it turns true, nothing is written
};

/// What became of them.
struct TokenizeReport {
  TokenFileNote note;
  std::int64_t documents = 0;
  std::int64_t empty = 0;    ///< without any text; left out
  std::int64_t bad = 0;      ///< left out
  std::optional<Error> first_bad;
  std::int64_t unanswered = 0;  ///< documents without a token that counts
  std::int64_t cut = 0;         ///< longer than a row, and so cut
  std::int64_t padding = 0;     ///< tokens that fill rows
  Bytes read;
};

/// Turns the files into one token file, in their order. Errors name file and line; ErrorKind::kInterrupted when stopped.
/// Nothing is left at the output unless all went well. A disk that fails throws EnvironmentError.
Result<TokenizeReport> tokenize_files(const Tokenizer& tokenizer, const TokenizeRequest& request);

}  // namespace plimsoll
