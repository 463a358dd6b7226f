#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll::chat {

/// Why a template could not be carried out; caught where it is rendered, and a value from there on.
class TemplateError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Value;
struct Macro;

using List = std::vector<Value>;

/// Keys and values in the order in which they came, as Python keeps them.
struct Dict {
  std::vector<std::pair<std::string, Value>> entries;

  [[nodiscard]] const Value* find(std::string_view key) const;
  void set(std::string_view key, Value value);
};

/// A name that nothing was given; printing it yields nothing, working with it is an error that names it.
struct Undefined {
  std::string name;
};

struct None {};

/// A value of a template, with Python's notion of what it is.
class Value {
 public:
  using Data = std::variant<Undefined, None, bool, std::int64_t, double, std::string, std::shared_ptr<List>,
                            std::shared_ptr<Dict>, std::shared_ptr<const Macro>>;

  Value() : data_(Undefined{}) {}
  Value(Undefined undefined) : data_(std::move(undefined)) {}
  Value(None none) : data_(none) {}
  Value(bool value) : data_(value) {}
  Value(std::int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string text) : data_(std::move(text)) {}
  Value(const char* text) : data_(std::string(text)) {}
  Value(List list) : data_(std::make_shared<List>(std::move(list))) {}
  Value(Dict dict) : data_(std::make_shared<Dict>(std::move(dict))) {}
  Value(std::shared_ptr<const Macro> macro) : data_(std::move(macro)) {}
  /// From JSON; numbers beyond int64 become reals.
  static Value from(const nlohmann::ordered_json& json);

  template <typename T>
  [[nodiscard]] const T* get() const {
    return std::get_if<T>(&data_);
  }
  [[nodiscard]] const std::string* text() const { return get<std::string>(); }
  [[nodiscard]] const List* list() const;
  [[nodiscard]] const Dict* dict() const;
  /// A namespace is the only value that a template may change.
  [[nodiscard]] Dict* changeable();
  [[nodiscard]] bool is_undefined() const { return get<Undefined>() != nullptr; }
  [[nodiscard]] bool is_none() const { return get<None>() != nullptr; }
  [[nodiscard]] bool is_number() const { return get<std::int64_t>() || get<double>() || get<bool>(); }
  /// True where Python's `bool` is.
  [[nodiscard]] bool truth() const;
  /// The number as a real; TemplateError for anything else.
  [[nodiscard]] double real() const;
  /// The integer (or bool); TemplateError for anything else.
  [[nodiscard]] std::int64_t integer() const;
  /// "a string", "None", "a list": for errors.
  [[nodiscard]] std::string kind() const;

  bool is_namespace = false;

 private:
  Data data_;
};

/// What Python's `str` makes of it.
std::string to_text(const Value& value);
/// What Python's `repr` makes of it.
std::string to_repr(const Value& value);
/// What json.dumps(ensure_ascii=False) makes of it; `indent` < 0: on one line.
std::string to_json_text(const Value& value, std::int64_t indent = -1);

bool equal(const Value& a, const Value& b);
/// Python's a < b; TemplateError where the two cannot be compared.
bool less(const Value& a, const Value& b);
/// Python's `item in container`.
bool contains(const Value& container, const Value& item);
/// What a loop goes over: elements of a list, keys of a dict, characters of a text.
List items_of(const Value& value);
/// Characters of a UTF-8 text.
List characters_of(std::string_view text);

}  // namespace plimsoll::chat
