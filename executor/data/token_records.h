#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "formats/text/open_file.h"

namespace plimsoll {

/// A sequence of its own length.
struct TokenRecord {
  std::vector<std::int32_t> tokens;
  std::int64_t second = 0;  ///< where its second segment begins; its end when there is one segment only
  std::int64_t label = -1;
};

/// A file of JSON objects, one a line: {"tokens": [101, 7592, 102], "label": 1, "types": [0, 0, 0]}. `types` may be absent: all
/// tokens are then of the first segment. Other keys are passed over. Lines are read when they are asked for.
class TokenRecords {
 public:
  /// Checks every line. Errors name file and line: no JSON, no tokens, one beyond the vocabulary, more than `sequence`, types
  /// that are not zeros and then ones; where the model has classes, no label, or one beyond them.
  static Result<TokenRecords> open(const std::string& path, const ModelSpec& spec, std::int64_t sequence);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  /// Throws EnvironmentError when the file changed since it was opened.
  [[nodiscard]] TokenRecord read(std::int64_t index) const;

 private:
  TokenRecords(OpenFile file, std::string path, const ModelSpec& spec, std::int64_t sequence)
      : file_(std::move(file)), path_(std::move(path)), spec_(spec), sequence_(sequence) {}
  void find_lines();
  [[nodiscard]] Result<TokenRecord> parse(std::int64_t index) const;

  OpenFile file_;
  std::string path_;
  ModelSpec spec_;
  std::int64_t sequence_;
  std::vector<std::int64_t> starts_;  ///< of the lines, and the end of the last
  std::vector<std::int64_t> lines_;   ///< their numbers in the file
};

}  // namespace plimsoll
