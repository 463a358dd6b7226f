#include "formats/plans/packing_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

namespace plimsoll {
namespace {

/// Sizes, offsets and all sizes together stay below this, so that no sum overflows.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

bool has_column(const CsvTable& table, std::string_view column) {
  return std::find(table.header.begin(), table.header.end(), column) != table.header.end();
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::int64_t integer(CsvFields& fields, std::string_view column, std::int64_t least, std::int64_t most) {
  const std::string text = fields.text(column);
  const auto value = parse_integer(text);
  if (value && *value >= least && *value <= most) return *value;
  fields.refuse(column, value ? fmt::format("{} is not between {} and {}", *value, least, most)
                              : fmt::format("'{}' is no whole number", text.substr(0, 40)));
  return least;
}

std::optional<Bytes> optional_bytes(const CsvTable& table, CsvFields& fields, std::string_view column) {
  if (!has_column(table, column) || fields.text(column).empty()) return std::nullopt;
  return Bytes(integer(fields, column, 0, kMostBytes));
}

/// "4-9 12-15".
std::vector<TimeSpan> read_gaps(CsvFields& fields, const TimeSpan& life) {
  std::vector<TimeSpan> gaps;
  const std::string text = fields.text("gaps");
  for (std::string_view left = text; !left.empty();) {
    const std::string_view word = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(left.size(), word.size() + 1));
    if (word.empty()) continue;
    const std::size_t dash = word.find('-', 1);  // a first '-' is a sign
    const auto begin = parse_integer(word.substr(0, dash));
    const auto end = parse_integer(dash == std::string_view::npos ? std::string_view() : word.substr(dash + 1));
    if (!begin || !end || *begin < life.begin || *end > life.end || *begin >= *end) {
      fields.refuse("gaps", fmt::format("'{}' is no stretch of time BEGIN-END within the buffer's life", word.substr(0, 40)));
      return {};
    }
    gaps.push_back({*begin, *end});
  }
  return gaps;
}

TaskBuffer read_buffer(const CsvTable& table, CsvFields& fields) {
  constexpr std::int64_t kMostTime = std::numeric_limits<std::int64_t>::max() / 4;
  TaskBuffer buffer{.id = fields.text("id")};
  buffer.life.begin = integer(fields, "lower", -kMostTime, kMostTime);
  buffer.life.end = integer(fields, "upper", -kMostTime, kMostTime);
  buffer.size = Bytes(integer(fields, "size", 0, kMostBytes));
  if (buffer.life.end <= buffer.life.begin) fields.refuse("upper", "a life must end after it begins");
  if (has_column(table, "alignment") && !fields.text("alignment").empty()) {
    buffer.alignment = Bytes(integer(fields, "alignment", 1, kMostBytes));
  }
  buffer.offset = optional_bytes(table, fields, "offset");
  buffer.hint = optional_bytes(table, fields, "hint");
  if (has_column(table, "gaps")) buffer.gaps = read_gaps(fields, buffer.life);
  if (buffer.offset && buffer.offset->count % buffer.alignment.count != 0) {
    fields.refuse("offset", fmt::format("{} is no multiple of the alignment {}", buffer.offset->count, buffer.alignment.count));
  }
  return buffer;
}

/// A table without rows needs its columns too: else any line of text would be a table.
Result<void> check_columns(const CsvTable& table, const std::string& where) {
  for (const std::string_view column : {"id", "lower", "upper", "size"}) {
    if (has_column(table, column)) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("this table of buffers has no column '{}'", column),
                 .where = where,
                 .remedy = "name the columns in the first line: id,lower,upper,size"});
  }
  return {};
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

void append_line(std::string& text, std::vector<std::string> fields) {
  std::transform(fields.begin(), fields.end(), fields.begin(), quoted);
  text += fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

Result<PackingFile> read_packing_csv(std::string_view text, const std::string& where) {
  auto table = read_csv(text, where);
  if (!table) return fail(table.error());
  if (const auto columns = check_columns(*table, where); !columns) return fail(columns.error());
  PackingFile file{.table = std::move(*table), .task = {}};
  std::set<std::string> ids;
  std::int64_t total = 0;
  for (const CsvRow& row : file.table.rows) {
    CsvFields fields(file.table, row);
    TaskBuffer buffer = read_buffer(file.table, fields);
    if (!ids.insert(buffer.id).second) fields.refuse("id", fmt::format("'{}' stands in two rows", buffer.id));
    total += buffer.size.count;
    if (total > kMostBytes) fields.refuse("size", "the sizes add up to more than an exbibyte");
    if (fields.error()) return fail(*fields.error());
    file.task.push_back(std::move(buffer));
  }
  return file;
}

std::string write_packing_csv(const PackingFile& file, std::span<const Bytes> offsets) {
  const auto& header = file.table.header;
  const auto column = static_cast<std::size_t>(std::find(header.begin(), header.end(), "offset") - header.begin());
  const auto with_offset = [&](std::vector<std::string> fields, std::string offset) {
    fields.resize(std::max(fields.size(), column + 1));
    fields[column] = std::move(offset);
    return fields;
  };
  std::string text;
  append_line(text, with_offset(header, "offset"));
  for (std::size_t i = 0; i < file.table.rows.size(); ++i) {
    append_line(text, with_offset(file.table.rows[i].fields, std::to_string(offsets[i].count)));
  }
  return text;
}

}  // namespace plimsoll
