#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/traces/byte_source.h"

namespace plimsoll {

enum class PickleKind : std::uint8_t { kNone, kBool, kNumber, kReal, kText, kList, kDict };

/// The values of a Python pickle that holds nothing but None, numbers, texts, lists, tuples and dicts. A pickle is a program; of its
/// instructions only those that build such values are known here, and one that names a class or calls something is refused. Values
/// that the pickle shares are held once.
class PickleValues {
 public:
  using Id = std::uint32_t;

  /// Throws an EnvironmentError of kind kInput that names the byte.
  static PickleValues read(ByteSource source);

  [[nodiscard]] Id top() const { return top_; }
  [[nodiscard]] PickleKind kind(Id id) const { return values_[id].kind; }
  /// Of a number or truth value; else `otherwise`.
  [[nodiscard]] std::int64_t number(Id id, std::int64_t otherwise = 0) const;
  [[nodiscard]] const std::string& text(Id id) const;
  /// Of a list or tuple; of a dict keys and values in turn; empty of anything else.
  [[nodiscard]] const std::vector<Id>& items(Id id) const;
  /// A dict's value; kNothing when there is none.
  [[nodiscard]] Id find(Id dict, std::string_view key) const;
  static constexpr Id kNothing = 0xffffffffu;

 private:
  friend class PickleMachine;
  struct Value {
    PickleKind kind = PickleKind::kNone;
    std::int64_t number = 0;  ///< or the index into texts_ or items_
  };
  std::vector<Value> values_;
  std::vector<std::string> texts_;
  std::vector<std::vector<Id>> items_;
  Id top_ = kNothing;
};

}  // namespace plimsoll
