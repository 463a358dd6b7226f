#include "executor/data/token_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

using nlohmann::json;

/// Reads the fields of one line.
class RecordReader {
 public:
  RecordReader(const json& line, const ModelSpec& spec, std::int64_t sequence) : line_(line), spec_(spec), sequence_(sequence) {}

  Result<TokenRecord> read() {
    if (!line_.is_object()) return bad("expected an object");
    read_tokens();
    read_types();
    if (spec_.head == HeadKind::kClass) read_label();
    if (!what_.empty()) return bad(what_);
    return record_;
  }

 private:
  static tl::unexpected<Error> bad(std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = {}});
  }

  void fault(std::string what) {
    if (what_.empty()) what_ = std::move(what);
  }

  void read_tokens() {
    const auto found = line_.find("tokens");
    if (found == line_.end() || !found->is_array() || found->empty()) return fault("'tokens' is no list of token ids");
    for (const json& token : *found) {
      if (!token.is_number_integer()) return fault(fmt::format("{} is no token id", token.dump()));
      const auto id = token.get<std::int64_t>();
      if (id < 0 || id >= spec_.vocabulary)
        return fault(fmt::format("token {} is beyond the vocabulary of {}", id, spec_.vocabulary));
      record_.tokens.push_back(static_cast<std::int32_t>(id));
    }
    record_.second = static_cast<std::int64_t>(record_.tokens.size());
    if (record_.second > sequence_) {
      fault(fmt::format("the record has {} tokens, more than the {} of a sequence", record_.second, sequence_));
    }
  }

  void read_types() {
    const auto found = line_.find("types");
    if (found == line_.end() || found->is_null()) return;
    if (!found->is_array() || found->size() != record_.tokens.size()) return fault("'types' is no list as long as 'tokens'");
    const auto& types = *found;
    const auto second = std::find(types.begin(), types.end(), 1);
    const bool sound = std::all_of(types.begin(), second, [](const json& type) { return type == 0; }) &&
                       std::all_of(second, types.end(), [](const json& type) { return type == 1; });
    if (!sound) return fault("'types' are not zeros and then ones");
    record_.second = second - types.begin();
  }

  void read_label() {
    const auto found = line_.find("label");
    if (found == line_.end()) return fault("the key 'label' is missing");
    if (!found->is_number_integer()) return fault(fmt::format("the label {} is no whole number", found->dump()));
    record_.label = found->get<std::int64_t>();
    if (record_.label < 0 || record_.label >= spec_.classes) {
      fault(fmt::format("the label {} is beyond the {} classes", record_.label, spec_.classes));
    }
  }

  const json& line_;
  const ModelSpec& spec_;
  std::int64_t sequence_;
  TokenRecord record_;
  std::string what_;
};

}  // namespace

void TokenRecords::find_lines() {
  constexpr std::int64_t kChunk = std::int64_t{1} << 20;
  const std::int64_t size = file_.size().count;
  std::vector<std::byte> chunk;
  std::int64_t start = 0, number = 1;
  const auto end_line = [&](std::int64_t end) {
    if (end > start) {
      starts_.push_back(start);
      lines_.push_back(number);
    }
    start = end + 1;
    ++number;
  };
  for (std::int64_t at = 0; at < size; at += kChunk) {
    chunk.resize(static_cast<std::size_t>(std::min(kChunk, size - at)));
    file_.read_at(Bytes(at), chunk);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      if (chunk[i] == std::byte{'\n'}) end_line(at + static_cast<std::int64_t>(i));
    }
  }
  end_line(size);
  starts_.push_back(size);
}

Result<TokenRecord> TokenRecords::parse(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  std::string text(static_cast<std::size_t>(starts_[i + 1] - starts_[i]), ' ');
  file_.read_at(Bytes(starts_[i]), std::as_writable_bytes(std::span(text)));
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const std::string where = fmt::format("{}: line {}", path_, lines_[i]);
  const auto parsed = parse_json(line, where, starts_[i]);
  if (!parsed) return fail(parsed.error());
  auto record = RecordReader(*parsed, spec_, sequence_).read();
  if (record) return record;
  Error error = record.error();
  error.where = where;
  return fail(std::move(error));
}

Result<TokenRecords> TokenRecords::open(const std::string& path, const ModelSpec& spec, std::int64_t sequence) {
  auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  TokenRecords records(std::move(*file), path, spec, sequence);
  records.find_lines();
  if (records.size() == 0)
    return fail({.kind = ErrorKind::kInput, .what = "the file has no records", .where = path, .remedy = {}});
  for (std::int64_t i = 0; i < records.size(); ++i) {
    if (const auto sound = records.parse(i); !sound) return fail(sound.error());
  }
  return records;
}

TokenRecord TokenRecords::read(std::int64_t index) const {
  auto record = parse(index);
  if (record) return std::move(*record);
  Error error = record.error();
  error.kind = ErrorKind::kEnvironment;
  error.what = "the data changed while it was in use: " + error.what;
  throw EnvironmentError(std::move(error));
}

}  // namespace plimsoll
