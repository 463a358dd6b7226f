#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace google::protobuf::io {
class CodedInputStream;
class FileInputStream;
}  // namespace google::protobuf::io

namespace plimsoll {

/// A file of protocol buffers, field by field. Numbers of fields are the caller's knowledge; what it does not ask for is passed
/// over, so that a file of gigabytes of weights needs no memory. Damage throws an EnvironmentError of kind kInput that names the byte.
class ProtoFields {
 public:
  static Result<ProtoFields> open(const std::string& path);
  ProtoFields(ProtoFields&&) noexcept;
  ~ProtoFields();

  /// The next field of the message that is open; false at its end.
  bool next();
  [[nodiscard]] int field() const { return static_cast<int>(tag_ >> 3); }
  /// Whether a text, message or packed list stands in it.
  [[nodiscard]] bool is_bytes() const { return (tag_ & 7) == 2; }

  // One of these for each field.
  /// A varint, or 4 or 8 bytes as they stand. Of a message or a text: refused.
  std::uint64_t number();
  /// The same as a signed number; zigzag where the schema says sint.
  std::int64_t signed_number() { return static_cast<std::int64_t>(number()); }
  double float_number();
  std::string text(std::size_t most = kMostText);
  /// Appends a repeated number, packed or not.
  void numbers(std::vector<std::int64_t>& out);
  /// Bytes of a field that is a text, message or packed list, when `most` holds them; passed over and empty otherwise.
  std::string small_bytes(std::size_t most);
  /// Reads the message that the field holds: `read` is called for each of its fields.
  void message(const std::function<void(ProtoFields&)>& read);
  void skip();

  /// Between messages of a file that is a list of them, each after its length: enters the next one; false at the file's end.
  bool next_delimited(const std::function<void(ProtoFields&)>& read);

  [[nodiscard]] std::int64_t offset() const;
  [[noreturn]] void refuse(std::string what) const;

  static constexpr std::size_t kMostText = 1 << 20;

 private:
  ProtoFields(std::string path, int descriptor);
  void renew();
  std::uint32_t length();
  void read_fields(std::uint32_t bytes, const std::function<void(ProtoFields&)>& read);

  std::string path_;
  std::unique_ptr<google::protobuf::io::FileInputStream> file_;
  std::unique_ptr<google::protobuf::io::CodedInputStream> input_;
  std::int64_t before_ = 0;  ///< bytes of streams that came before this one
  std::uint32_t tag_ = 0;
  int depth_ = 0;
};

}  // namespace plimsoll
