#include "formats/corpus/tokenize_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "formats/corpus/line_reader.h"
#include "formats/corpus/pack_rows.h"
#include "formats/text/read_text_file.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestText{std::int64_t{4} << 30};

Error bad(std::string what, std::string where, std::string remedy = {}) {
  return {.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)};
}

/// Carries a request out.
class Tokenizing {
 public:
  Tokenizing(const Tokenizer& tokenizer, const TokenizeRequest& request)
      : tokenizer_(tokenizer),
        request_(request),
        writer_(request.output, tokenizer.vocabulary(), request.sequence > 0 ? request.sequence + 1 : 0, tokenizer.digest()) {
    if (request.sequence == 0) return;
    packer_ = std::make_unique<RowPacker>(request.sequence + 1, request.rules.end,
                                          [this](const Example& row) { writer_.append(row.tokens, row.counts); });
  }

  Result<TokenizeReport> run() {
    for (const auto& file : request_.files) total_ += static_cast<double>(std::filesystem::file_size(file));
    for (const auto& file : request_.files) {
      if (const auto done = holds_lines(file) ? read_lines(file) : read_text(file); !done) return fail(done.error());
    }
    if (packer_) {
      packer_->finish();
      report_.cut = packer_->cut();
      report_.padding = packer_->padding();
    }
    if (writer_.note().tokens == 0) return fail(bad("there is no text in it", request_.files.front().string()));
    writer_.finish();
    report_.note = writer_.note();
    return report_;
  }

 private:
  [[nodiscard]] bool holds_lines(const std::filesystem::path& file) const {
    if (request_.kind != CorpusKind::kByName) return request_.kind == CorpusKind::kLines;
    return file.extension() == ".jsonl" || file.extension() == ".ndjson";
  }

  [[nodiscard]] Result<void> check_stop() const {
    if (request_.stop == nullptr || !*request_.stop) return {};
    return fail({.kind = ErrorKind::kInterrupted, .what = "interrupted; nothing was written", .where = {}, .remedy = {}});
  }

  void tell(Bytes of_this_file) const {
    if (!request_.on_progress || total_ <= 0) return;
    request_.on_progress(static_cast<double>((report_.read + of_this_file).count) / total_);
  }

  void add(const Example& example) {
    if (example.tokens.empty()) {
      ++report_.empty;
      return;
    }
    ++report_.documents;
    if (std::find(example.counts.begin(), example.counts.end(), true) == example.counts.end()) ++report_.unanswered;
    packer_ ? packer_->add(example) : writer_.append(example.tokens, example.counts);
  }

  /// An example that could not be made: an error, or a line to leave out.
  Result<void> refuse(const Error& error) {
    if (!request_.skip_bad) return fail(error);
    if (!report_.first_bad) report_.first_bad = error;
    ++report_.bad;
    return {};
  }

  Result<void> read_text(const std::filesystem::path& file) {
    const auto text = read_text_file(file, kLargestText);
    if (!text) {
      Error error = text.error();
      if (error.what.starts_with("the file is larger")) error.remedy = "cut it into documents: one a line, as JSONL";
      return fail(error);
    }
    auto example = text_example(tokenizer_, *text, request_.rules.end);
    if (!example) {
      Error error = example.error();
      error.where = file.string();
      return refuse(error);
    }
    add(*example);
    report_.read += Bytes(static_cast<std::int64_t>(text->size()));
    tell(Bytes(0));
    return check_stop();
  }

  Result<void> read_line(const Line& line, const std::string& where) {
    if (line.too_long) {
      return refuse(bad(fmt::format("a line of more than {}", to_text(Bytes(LineReader::kLongestLine))), where));
    }
    if (line.text.find_first_not_of(" \t") == std::string_view::npos) return {};
    const auto example = read_line_example(tokenizer_, line.text, where, request_.rules);
    if (!example) return refuse(example.error());
    add(*example);
    return {};
  }

  Result<void> read_lines(const std::filesystem::path& path) {
    auto file = OpenFile::for_reading(path);
    if (!file) return fail(file.error());
    LineReader reader(std::move(*file));
    while (const auto line = reader.next()) {
      if (const auto done = read_line(*line, fmt::format("{}:{}", path.string(), line->number)); !done) return done;
      if (const auto go_on = check_stop(); !go_on) return go_on;
      tell(reader.position());
    }
    report_.read += reader.size();
    return {};
  }

  const Tokenizer& tokenizer_;
  const TokenizeRequest& request_;
  TokenFileWriter writer_;
  std::unique_ptr<RowPacker> packer_;
  TokenizeReport report_;
  double total_ = 0;
};

/// Before anything is written: every file must be there.
Result<void> check_files(const TokenizeRequest& request) {
  for (const auto& file : request.files) {
    if (auto opened = OpenFile::for_reading(file); !opened) return fail(opened.error());
    std::error_code ignored;
    if (std::filesystem::equivalent(file, request.output, ignored)) {
      return fail(bad("the output would replace this file", file.string(), "choose another -o"));
    }
  }
  return {};
}

}  // namespace

Result<TokenizeReport> tokenize_files(const Tokenizer& tokenizer, const TokenizeRequest& request) {
  if (const auto there = check_files(request); !there) return fail(there.error());
  Tokenizing work(tokenizer, request);
  return work.run();
}

}  // namespace plimsoll
