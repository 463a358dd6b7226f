#include "formats/models/safetensors_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "core/base/digest.h"
#include "formats/models/half_floats.h"
#include "formats/models/safetensors_checksums.h"

namespace plimsoll {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kPieceElements = 1 << 16;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 50;

tl::unexpected<Error> bad(ErrorKind kind, const std::filesystem::path& path, std::string what) {
  return fail({.kind = kind, .what = std::move(what), .where = path.string(), .remedy = {}});
}

Result<std::vector<std::int64_t>> count_elements(const SafetensorsPlan& plan, const std::filesystem::path& path) {
  if (plan.type != StoredType::kF32 && plan.type != StoredType::kF64 && plan.type != StoredType::kBf16) {
    return bad(ErrorKind::kInput, path, fmt::format("cannot write {}; F32, F64 and BF16 can be written", to_text(plan.type)));
  }
  std::vector<std::int64_t> counts;
  std::set<std::string_view> names = {"__metadata__"};
  std::int64_t total = 0;
  for (const auto& [name, shape, bytes] : plan.tensors) {
    if (!names.insert(name).second) return bad(ErrorKind::kInput, path, fmt::format("the name '{}' is taken", name));
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
      if (size < 0) return bad(ErrorKind::kInput, path, fmt::format("tensor '{}' has a negative size", name));
      if (size != 0 && count > kMaxElements / size) return bad(ErrorKind::kInput, path, fmt::format("'{}' is too large", name));
      count *= size;
    }
    total += count;
    if (total > kMaxElements) return bad(ErrorKind::kInput, path, "the tensors are too large together");
    counts.push_back(count);
  }
  return counts;
}

StoredType type_of(const SafetensorsPlan& plan, std::size_t tensor) {
  return plan.tensors[tensor].bytes ? StoredType::kU8 : plan.type;
}

/// Data of a file with checksums begins at a page, so that the header may be written again, and as long, in place.
std::size_t alignment_of(const SafetensorsPlan& plan) { return plan.checksums ? 4096 : 8; }

/// The file's first bytes; spaces pad the JSON so that the data begins at a multiple of eight, or of a page.
std::string header_bytes(const SafetensorsPlan& plan, const std::vector<std::int64_t>& counts) {
  ordered_json header = ordered_json::object();
  if (!plan.metadata.empty()) header["__metadata__"] = plan.metadata;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const std::int64_t end = at + counts[i] * bits_of(type_of(plan, i)) / 8;
    header[plan.tensors[i].name] = {
        {"dtype", to_text(type_of(plan, i))}, {"shape", plan.tensors[i].shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  const std::size_t alignment = alignment_of(plan);
  const std::size_t end = (sizeof(std::uint64_t) + text.size() + alignment - 1) / alignment * alignment;
  text.append(end - sizeof(std::uint64_t) - text.size(), ' ');
  const auto length = static_cast<std::uint64_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

/// Places for checksums, which are filled in when the data is known.
void reserve_checksums(SafetensorsPlan& plan) {
  plan.metadata[std::string(kChecksumKey)] = kNoChecksum;
  for (const auto& tensor : plan.tensors) plan.metadata[checksum_key(tensor.name)] = digest_of_bytes({});
}

/// Whether it is a file of its own, not a link nor one of several names of a file that somebody keeps.
bool is_spare(const std::filesystem::path& path) {
  std::error_code ignored;  // what cannot be looked at is not spare
  return std::filesystem::is_regular_file(std::filesystem::symlink_status(path, ignored)) &&
         std::filesystem::hard_link_count(path, ignored) == 1;
}

Bytes file_size(const SafetensorsPlan& plan, const std::vector<std::int64_t>& elements, std::size_t head) {
  Bytes size(static_cast<std::int64_t>(head));
  for (std::size_t i = 0; i < elements.size(); ++i) size += Bytes(elements[i] * bits_of(type_of(plan, i)) / 8);
  return size;
}

OpenFile open_place(const std::filesystem::path& path, WritePlace place) {
  if (place == WritePlace::kInPlace || (place == WritePlace::kOverSpare && is_spare(path))) return OpenFile::for_overwriting(path);
  std::error_code absent;  // what cannot be removed cannot be made anew either
  if (place == WritePlace::kOverSpare) std::filesystem::remove(path, absent);
  return OpenFile::for_writing(path);
}

}  // namespace

Result<Bytes> size_of_safetensors(SafetensorsPlan plan) {
  const auto counts = count_elements(plan, {});
  if (!counts) return fail(counts.error());
  if (plan.checksums) reserve_checksums(plan);
  return file_size(plan, *counts, header_bytes(plan, *counts).size());
}

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path, std::filesystem::path temporary, OpenFile file,
                                     SafetensorsPlan plan, std::vector<std::int64_t> elements, bool over_older)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(std::move(file)), plan_(std::move(plan)),
      elements_(std::move(elements)), over_older_(over_older) {}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), file_(std::move(other.file_)),
      plan_(std::move(other.plan_)), elements_(std::move(other.elements_)), over_older_(other.over_older_), current_(other.current_),
      written_(other.written_), final_size_(other.final_size_), digest_(std::move(other.digest_)) {}

SafetensorsWriter::~SafetensorsWriter() {
  std::error_code ignored;  // a destructor must not throw, and a leftover is only a leftover
  if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path, SafetensorsPlan plan, WritePlace place) {
  auto counts = count_elements(plan, path);
  if (!counts) return fail(counts.error());
  if (plan.checksums) reserve_checksums(plan);
  std::string head = header_bytes(plan, *counts);
  if (static_cast<std::int64_t>(head.size()) > kMaxSafetensorsHeader.count) {
    return bad(ErrorKind::kInput, path, fmt::format("the header of {} bytes passes the format's limit", head.size()));
  }
  const std::filesystem::path temporary = place == WritePlace::kInPlace ? std::string() : path.string() + ".tmp";
  OpenFile file = open_place(temporary.empty() ? path : temporary, place);
  SafetensorsWriter writer(path, temporary, std::move(file), std::move(plan), std::move(*counts),
                           place != WritePlace::kBeside);
  writer.file_.append(std::as_bytes(std::span(head)));
  writer.final_size_ = file_size(writer.plan_, writer.elements_, head.size());
  writer.skip_complete_tensors();
  return writer;
}

void SafetensorsWriter::skip_complete_tensors() {
  while (current_ < elements_.size() && written_ == elements_[current_]) {
    if (plan_.checksums) plan_.metadata[checksum_key(plan_.tensors[current_].name)] = digest_.text();
    digest_ = RunningDigest();
    ++current_;
    written_ = 0;
  }
}

Result<void> SafetensorsWriter::check_turn(std::string_view name, std::size_t count, bool bytes) const {
  if (current_ == elements_.size()) {
    return bad(ErrorKind::kDefect, path_, fmt::format("values of '{}' came after the last tensor was complete", name));
  }
  if (name != plan_.tensors[current_].name) {
    return bad(ErrorKind::kDefect, path_,
               fmt::format("values of '{}' came where '{}' was expected", name, plan_.tensors[current_].name));
  }
  if (bytes != plan_.tensors[current_].bytes) {
    return bad(ErrorKind::kDefect, path_,
               fmt::format("'{}' is of {}", name, bytes ? "numbers, not of bytes" : "bytes, not of numbers"));
  }
  if (static_cast<std::int64_t>(count) > elements_[current_] - written_) {
    return bad(ErrorKind::kDefect, path_, fmt::format("more than {} values came for '{}'", elements_[current_], name));
  }
  return {};
}

Result<void> SafetensorsWriter::check_width(std::string_view name, bool doubles) const {
  if (doubles == (plan_.type == StoredType::kF64)) return {};
  return bad(ErrorKind::kDefect, path_,
             fmt::format("values of '{}' came in {}, and the file is of {}", name, doubles ? "F64" : "F32", to_text(plan_.type)));
}

void SafetensorsWriter::append_stored(std::span<const std::byte> stored) {
  file_.append(stored);
  if (plan_.checksums) digest_.add(stored);
}

void SafetensorsWriter::append_bf16(std::span<const float> values) {
  std::vector<std::uint16_t> halves(std::min(values.size(), kPieceElements));
  while (!values.empty()) {
    const std::span piece = values.first(std::min(values.size(), kPieceElements));
    std::transform(piece.begin(), piece.end(), halves.begin(), bf16_from_float);
    append_stored(std::as_bytes(std::span(halves).first(piece.size())));
    values = values.subspan(piece.size());
  }
}

void SafetensorsWriter::count(std::size_t written) {
  written_ += static_cast<std::int64_t>(written);
  skip_complete_tensors();
}

Result<void> SafetensorsWriter::append(std::string_view name, std::span<const float> values) {
  if (values.empty()) return {};
  if (auto turn = check_turn(name, values.size(), false); !turn) return turn;
  if (auto width = check_width(name, false); !width) return width;
  if (plan_.type == StoredType::kF32) {
    append_stored(std::as_bytes(values));
  } else {
    append_bf16(values);
  }
  count(values.size());
  return {};
}

Result<void> SafetensorsWriter::append_doubles(std::string_view name, std::span<const double> values) {
  if (values.empty()) return {};
  if (auto turn = check_turn(name, values.size(), false); !turn) return turn;
  if (auto width = check_width(name, true); !width) return width;
  append_stored(std::as_bytes(values));
  count(values.size());
  return {};
}

Result<void> SafetensorsWriter::append_bytes(std::string_view name, std::span<const std::byte> values) {
  if (values.empty()) return {};
  if (auto turn = check_turn(name, values.size(), true); !turn) return turn;
  append_stored(values);
  count(values.size());
  return {};
}

Result<void> SafetensorsWriter::finish() {
  if (current_ != elements_.size()) {
    return bad(ErrorKind::kDefect, path_,
               fmt::format("tensor '{}' has only {} of {} values", plan_.tensors[current_].name, written_, elements_[current_]));
  }
  if (over_older_ && file_.size() > final_size_) file_.resize(final_size_);  // it was longer
  if (file_.size() != final_size_) {  // a failed append left part of its values behind
    return bad(ErrorKind::kDefect, path_,
               fmt::format("the file has {} bytes instead of {}", file_.size().count, final_size_.count));
  }
  if (plan_.checksums) write_checksums();
  file_.sync();
  if (!temporary_.empty()) take_name();
  return {};
}

/// The header was written with places of the same length.
void SafetensorsWriter::write_checksums() {
  plan_.metadata[std::string(kChecksumKey)] = kNoChecksum;
  plan_.metadata[std::string(kChecksumKey)] = digest_of(header_bytes(plan_, elements_));
  const std::string head = header_bytes(plan_, elements_);
  file_.write_at(Bytes(0), std::as_bytes(std::span(head)));
}

void SafetensorsWriter::take_name() {
  std::error_code problem;
  std::filesystem::rename(temporary_, path_, problem);
  if (problem) {
    throw EnvironmentError({.kind = ErrorKind::kEnvironment,
                            .what = "the finished file cannot be renamed into place: " + problem.message(),
                            .where = path_.string(),
                            .remedy = {}});
  }
  temporary_.clear();
  sync_directory(path_.parent_path());
}

}  // namespace plimsoll
