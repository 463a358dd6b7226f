#include "formats/models/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "formats/text/open_file.h"
#include "formats/text/parse_json.h"

namespace plimsoll {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

struct TypeRow {
  std::string_view name;
  std::int64_t bits;
};

/// By StoredType; names and widths as the format's reference implementation lists them.
constexpr std::array<TypeRow, 20> kTypes = {{
    {"BOOL", 8}, {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16}, {"F16", 16}, {"BF16", 16}, {"I32", 32},   {"U32", 32},    {"F32", 32},    {"I64", 64},
    {"U64", 64}, {"F64", 64}, {"C64", 64}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},
}};

constexpr std::int64_t kLengthBytes = 8;
constexpr std::int64_t kMaxBits = std::int64_t{1} << 62;

tl::unexpected<Error> bad(std::string_view where, std::string what) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::string(where), .remedy = {}});
}

std::optional<std::int64_t> natural(const json& value) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxBits)) return {};
  return value.get<std::int64_t>();
}

/// Reads one entry of the header; every method says what is wrong with it.
class TensorReader {
 public:
  TensorReader(std::string name, const json& entry, std::string_view where, Bytes data_begin)
      : entry_(entry), where_(fmt::format("{}: tensor '{}'", where, name)), data_begin_(data_begin) {
    tensor_.name = std::move(name);
  }

  Result<SafetensorsTensor> read() {
    if (!entry_.is_object()) return bad(where_, "expected an object with dtype, shape and data_offsets");
    for (const auto& [key, value] : entry_.items()) {
      if (key != "dtype" && key != "shape" && key != "data_offsets") return bad(where_, fmt::format("unknown key '{}'", key));
    }
    if (auto done = read_type(); !done) return fail(done.error());
    if (auto done = read_shape(); !done) return fail(done.error());
    if (auto done = read_offsets(); !done) return fail(done.error());
    return std::move(tensor_);
  }

 private:
  Result<void> read_type() {
    const auto found = entry_.find("dtype");
    if (found == entry_.end() || !found->is_string()) return bad(where_, "expected 'dtype' to name a type such as F32");
    const auto& name = found->get_ref<const std::string&>();
    const auto* const row = std::find_if(kTypes.begin(), kTypes.end(), [&](const TypeRow& type) { return type.name == name; });
    if (row == kTypes.end()) return bad(where_, fmt::format("unknown dtype '{}'", name));
    tensor_.type = static_cast<StoredType>(row - kTypes.begin());
    return {};
  }

  Result<void> read_shape() {
    const auto found = entry_.find("shape");
    if (found == entry_.end() || !found->is_array()) return bad(where_, "expected 'shape' to be an array of sizes");
    const std::int64_t bits = bits_of(tensor_.type);
    tensor_.elements = 1;
    for (const json& item : *found) {
      const auto size = natural(item);
      if (!size) return bad(where_, fmt::format("'{}' is not a size in 'shape'", item.dump()));
      if (*size != 0 && tensor_.elements > kMaxBits / bits / *size) return bad(where_, "the shape's product overflows");
      tensor_.elements *= *size;
      tensor_.shape.push_back(*size);
    }
    if (tensor_.elements * bits % 8 != 0) return bad(where_, "the packed elements do not fill whole bytes");
    tensor_.bytes = Bytes(tensor_.elements * bits / 8);
    return {};
  }

  Result<void> read_offsets() {
    const auto found = entry_.find("data_offsets");
    if (found == entry_.end() || !found->is_array() || found->size() != 2) {
      return bad(where_, "expected 'data_offsets' to be [begin, end]");
    }
    const auto begin = natural((*found)[0]);
    const auto end = natural((*found)[1]);
    if (!begin || !end || *begin > *end) return bad(where_, "'data_offsets' are not begin ≤ end");
    if (*end - *begin != tensor_.bytes.count) {
      return bad(where_, fmt::format("data_offsets [{}, {}] hold {} bytes, but dtype and shape need {}", *begin, *end,
                                     *end - *begin, tensor_.bytes.count));
    }
    tensor_.offset = data_begin_ + Bytes(*begin);
    return {};
  }

  const json& entry_;
  std::string where_;
  Bytes data_begin_;
  SafetensorsTensor tensor_;
};

Result<std::map<std::string, std::string>> read_metadata(const json& value, std::string_view where) {
  if (!value.is_object()) return bad(where, "expected '__metadata__' to be an object of strings");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return bad(where, fmt::format("expected a string in '__metadata__', at key '{}'", key));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

Result<void> check_contiguous(const SafetensorsHeader& header, Bytes data_begin, std::string_view where) {
  Bytes expected = data_begin;
  for (const SafetensorsTensor& tensor : header.tensors) {
    if (tensor.offset != expected) {
      return bad(where, fmt::format("tensor '{}' begins at byte {}, but the data before it ends at byte {}", tensor.name,
                                    tensor.offset.count, expected.count));
    }
    expected += tensor.bytes;
    if (expected > header.file_bytes) {
      return bad(where, fmt::format("tensor '{}' ends at byte {}, but the file has {} bytes: it is truncated", tensor.name,
                                    expected.count, header.file_bytes.count));
    }
  }
  if (expected == header.file_bytes) return {};
  return bad(where, fmt::format("the tensors end at byte {}, but the file has {} bytes", expected.count,
                                header.file_bytes.count));
}

}  // namespace

std::string_view to_text(StoredType type) { return kTypes[static_cast<std::size_t>(type)].name; }
std::int64_t bits_of(StoredType type) { return kTypes[static_cast<std::size_t>(type)].bits; }

const SafetensorsTensor* SafetensorsHeader::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, Bytes file_bytes, std::string_view where) {
  if (text.empty() || text.front() != '{') {
    return bad(fmt::format("{}: byte {}", where, kLengthBytes), "expected '{' at the start of the header");
  }
  const auto parsed = parse_json(text, where, kLengthBytes);
  if (!parsed) return fail(parsed.error());
  SafetensorsHeader header{.tensors = {}, .metadata = {}, .file_bytes = file_bytes};
  const Bytes data_begin(kLengthBytes + static_cast<std::int64_t>(text.size()));
  for (const auto& [name, entry] : parsed->items()) {
    if (name == "__metadata__") {
      auto metadata = read_metadata(entry, where);
      if (!metadata) return fail(metadata.error());
      header.metadata = std::move(*metadata);
      continue;
    }
    auto tensor = TensorReader(name, entry, where, data_begin).read();
    if (!tensor) return fail(tensor.error());
    header.tensors.push_back(std::move(*tensor));
  }
  // Empty tensors share their offset with the next one, hence the second key.
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  if (auto done = check_contiguous(header, data_begin, where); !done) return fail(done.error());
  return header;
}

Result<SafetensorsHeader> read_safetensors_header(const std::filesystem::path& path) {
  const auto file = OpenFile::for_reading(path);
  if (!file) return fail(file.error());
  const std::string where = path.string();
  const Bytes file_bytes = file->size();
  if (file_bytes.count < kLengthBytes) {
    return bad(where, fmt::format("expected at least {} bytes, the file has {}", kLengthBytes, file_bytes.count));
  }
  std::uint64_t length = 0;
  file->read_at(Bytes(0), std::as_writable_bytes(std::span(&length, 1)));
  if (length > static_cast<std::uint64_t>(kMaxSafetensorsHeader.count)) {
    return bad(where + ": byte 0", fmt::format("a header of {} bytes passes the format's limit of {}: not a safetensors file",
                                               length, kMaxSafetensorsHeader.count));
  }
  if (length > static_cast<std::uint64_t>(file_bytes.count - kLengthBytes)) {
    return bad(where + ": byte 0", fmt::format("the header should have {} bytes, but only {} follow: the file is truncated",
                                               length, file_bytes.count - kLengthBytes));
  }
  std::string text(static_cast<std::size_t>(length), '\0');
  file->read_at(Bytes(kLengthBytes), std::as_writable_bytes(std::span(text)));
  return parse_safetensors_header(text, file_bytes, where);
}

}  // namespace plimsoll
