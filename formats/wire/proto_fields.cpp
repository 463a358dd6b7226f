#include "formats/wire/proto_fields.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <bit>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace plimsoll {
namespace {

constexpr int kDeepest = 32;

/// How a field stands in the file.
enum WireType : std::uint32_t { kVarint = 0, kEight = 1, kBytes = 2, kFour = 5 };

}  // namespace

Result<ProtoFields> ProtoFields::open(const std::string& path) {
  std::error_code ignored;
  const auto refused = [&](std::string what) {
    return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = path, .remedy = {}});
  };
  if (!std::filesystem::is_regular_file(path, ignored)) return refused("there is no such file");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return refused("cannot be opened: " + std::system_category().message(errno));
  return ProtoFields(path, descriptor);
}

ProtoFields::ProtoFields(std::string path, int descriptor)
    : path_(std::move(path)), file_(std::make_unique<google::protobuf::io::FileInputStream>(descriptor)) {
  file_->SetCloseOnDelete(true);
  renew();
}

ProtoFields::ProtoFields(ProtoFields&&) noexcept = default;
ProtoFields::~ProtoFields() {
  input_.reset();  // gives what it did not read back to the file
}

/// A stream counts its bytes in 31 bits; a file of many messages gets a new one now and then.
void ProtoFields::renew() {
  if (input_ != nullptr) before_ += input_->CurrentPosition();
  input_.reset();
  input_ = std::make_unique<google::protobuf::io::CodedInputStream>(file_.get());
}

std::int64_t ProtoFields::offset() const { return before_ + input_->CurrentPosition(); }

void ProtoFields::refuse(std::string what) const {
  throw EnvironmentError({.kind = ErrorKind::kInput,
                          .what = std::move(what),
                          .where = fmt::format("{}, byte {}", path_, offset()),
                          .remedy = "copy the file again from where it was made"});
}

bool ProtoFields::next() {
  tag_ = input_->ReadTag();
  if (tag_ != 0) {
    if (field() == 0) refuse("a field without a number");
    return true;
  }
  if (!input_->ConsumedEntireMessage()) refuse("the file is damaged or cut off");
  return false;
}

std::uint64_t ProtoFields::number() {
  std::uint64_t value = 0;
  std::uint32_t four = 0;
  bool read = false;
  switch (tag_ & 7) {
    case kVarint: read = input_->ReadVarint64(&value); break;
    case kEight: read = input_->ReadLittleEndian64(&value); break;
    case kFour:
      read = input_->ReadLittleEndian32(&four);
      value = four;
      break;
    default: refuse(fmt::format("field {} is no number", field()));
  }
  if (!read) refuse("the file is cut off within a number");
  return value;
}

double ProtoFields::float_number() {
  const std::uint32_t type = tag_ & 7;
  const std::uint64_t bits = number();
  if (type == kFour) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return type == kEight ? std::bit_cast<double>(bits) : static_cast<double>(static_cast<std::int64_t>(bits));
}

std::uint32_t ProtoFields::length() {
  std::uint32_t bytes = 0;
  if ((tag_ & 7) != kBytes) refuse(fmt::format("field {} is a number where a text or a message belongs", field()));
  if (!input_->ReadVarint32(&bytes)) refuse("the file is cut off within a length");
  return bytes;
}

std::string ProtoFields::small_bytes(std::size_t most) {
  const std::uint32_t bytes = length();
  std::string out;
  if (bytes > most) {
    if (bytes > INT32_MAX || !input_->Skip(static_cast<int>(bytes))) refuse("the file is cut off");
  } else if (!input_->ReadString(&out, static_cast<int>(bytes))) {
    refuse("the file is cut off within a text");
  }
  return out;
}

std::string ProtoFields::text(std::size_t most) { return small_bytes(most); }

void ProtoFields::numbers(std::vector<std::int64_t>& out) {
  if ((tag_ & 7) != kBytes) return out.push_back(signed_number());
  const std::uint32_t bytes = length();
  if (bytes > INT32_MAX) refuse("a list of numbers that is too long");
  const auto limit = input_->PushLimit(static_cast<int>(bytes));
  while (input_->BytesUntilLimit() > 0) {
    std::uint64_t value = 0;
    if (!input_->ReadVarint64(&value)) refuse("the file is cut off within a list of numbers");
    out.push_back(static_cast<std::int64_t>(value));
  }
  input_->PopLimit(limit);
}

void ProtoFields::read_fields(std::uint32_t bytes, const std::function<void(ProtoFields&)>& read) {
  const int until = input_->BytesUntilLimit();
  if (bytes > INT32_MAX || (until >= 0 && bytes > static_cast<std::uint32_t>(until)))
    refuse("a message is longer than what holds it");
  if (++depth_ > kDeepest) refuse("messages are nested too deeply");
  const auto limit = input_->PushLimit(static_cast<int>(bytes));
  while (next()) read(*this);
  if (input_->BytesUntilLimit() > 0) refuse("the file is cut off within a message");
  input_->PopLimit(limit);
  --depth_;
}

void ProtoFields::message(const std::function<void(ProtoFields&)>& read) { read_fields(length(), read); }

void ProtoFields::skip() {
  std::uint64_t ignored = 0;
  switch (tag_ & 7) {
    case kVarint:
    case kEight:
    case kFour: ignored = number(); break;
    case kBytes: small_bytes(0); break;
    default: refuse(fmt::format("field {} is of a kind that no protocol buffer of today has", field()));
  }
  static_cast<void>(ignored);
}

bool ProtoFields::next_delimited(const std::function<void(ProtoFields&)>& read) {
  constexpr int kMostOfAStream = 1 << 30;
  if (input_->CurrentPosition() > kMostOfAStream) renew();
  const void* data = nullptr;
  int size = 0;
  if (!input_->GetDirectBufferPointer(&data, &size)) return false;
  std::uint32_t bytes = 0;
  if (!input_->ReadVarint32(&bytes)) refuse("the file is cut off within a length");
  read_fields(bytes, read);
  return true;
}

}  // namespace plimsoll
