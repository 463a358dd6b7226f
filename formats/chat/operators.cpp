#include <fmt/format.h>

#include <cmath>

#include "formats/chat/arguments.h"

namespace plimsoll::chat {
namespace {

constexpr std::size_t kLongestText = std::size_t{1} << 28;

[[noreturn]] void refuse(const std::string& name, const Value& left, const Value& right) {
  throw TemplateError(fmt::format("'{}' does not work on {} and {}", name, left.kind(), right.kind()));
}

[[noreturn]] void refuse_zero() { throw TemplateError("division by zero"); }

/// `compute` writes a result and tells whether it overflowed.
template <typename Compute>
std::int64_t checked(const Compute& compute) {
  std::int64_t result = 0;
  if (compute(&result)) throw TemplateError("a number became too large");
  return result;
}

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  if (b == 0) refuse_zero();
  if (b == -1) return checked([&](std::int64_t* result) { return __builtin_sub_overflow(std::int64_t{0}, a, result); });
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

Value of_integers(const std::string& name, std::int64_t a, std::int64_t b) {
  if (name == "+") return checked([&](std::int64_t* result) { return __builtin_add_overflow(a, b, result); });
  if (name == "-") return checked([&](std::int64_t* result) { return __builtin_sub_overflow(a, b, result); });
  if (name == "*") return checked([&](std::int64_t* result) { return __builtin_mul_overflow(a, b, result); });
  if (name == "//") return floor_quotient(a, b);
  if (name == "%") return b == -1 ? std::int64_t{0} : a - floor_quotient(a, b) * b;
  if (name == "/") return b == 0 ? (refuse_zero(), 0.0) : static_cast<double>(a) / static_cast<double>(b);
  if (b < 0) return std::pow(static_cast<double>(a), static_cast<double>(b));
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < b && a != 1; ++i) {
    if (a == 0 || a == -1) return a == 0 ? std::int64_t{0} : b % 2 == 0 ? std::int64_t{1} : std::int64_t{-1};
    result = checked([&](std::int64_t* product) { return __builtin_mul_overflow(result, a, product); });
  }
  return result;
}

Value of_reals(const std::string& name, double a, double b) {
  if (name == "+") return a + b;
  if (name == "-") return a - b;
  if (name == "*") return a * b;
  if (name == "**") return std::pow(a, b);
  if (b == 0) refuse_zero();
  if (name == "/") return a / b;
  return name == "//" ? std::floor(a / b) : a - std::floor(a / b) * b;
}

std::string repeated(const std::string& text, std::int64_t times) {
  std::string all;
  if (times > 0 && static_cast<double>(text.size()) * static_cast<double>(times) >
                                            static_cast<double>(kLongestText)) throw TemplateError("a text became too long");
  for (std::int64_t i = 0; i < times; ++i) all += text;
  return all;
}

}  // namespace

Value apply_operator(const std::string& name, const Value& left, const Value& right) {
  if (name == "~") return to_text(left) + to_text(right);
  if (left.is_number() && right.is_number()) {
    if (left.get<double>() || right.get<double>()) return of_reals(name, left.real(), right.real());
    return of_integers(name, left.integer(), right.integer());
  }
  if (name == "+" && left.text() && right.text()) return *left.text() + *right.text();
  if (name == "+" && left.list() && right.list()) {
    List joined = *left.list();
    joined.insert(joined.end(), right.list()->begin(), right.list()->end());
    return joined;
  }
  if (name == "*" && left.text() && right.get<std::int64_t>()) return repeated(*left.text(), right.integer());
  if (name == "*" && right.text() && left.get<std::int64_t>()) return repeated(*right.text(), left.integer());
  refuse(name, left, right);
}

Value member_of(const Value& value, const std::string& name) {
  if (value.is_undefined()) throw TemplateError(fmt::format("{}, has no '{}'", value.kind(), name));
  const Value* found = value.dict() ? value.dict()->find(name) : nullptr;
  return found == nullptr ? Value(Undefined{name}) : *found;
}

}  // namespace plimsoll::chat
