#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "formats/chat/machine.h"

namespace plimsoll::chat {
namespace {

using Kind = Expression::Kind;

constexpr int kDeepestCalls = 32;
constexpr std::int64_t kLongestRange = 1'000'000;

/// Element `index` of a list or text, from its end when negative.
Value element(const List& items, std::int64_t index) {
  const auto count = static_cast<std::int64_t>(items.size());
  if (index < 0) index += count;
  if (index < 0 || index >= count) return Undefined{fmt::format("element {}", index)};
  return items[static_cast<std::size_t>(index)];
}

Value range(const Arguments& arguments) {
  std::int64_t begin = 0;
  std::int64_t end = arguments.need(0).integer();
  if (arguments.find(1)) begin = end, end = arguments.find(1)->integer();
  const std::int64_t step = arguments.find(2) ? arguments.find(2)->integer() : 1;
  if (step == 0) throw TemplateError("a range of step 0");
  List numbers;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    if (static_cast<std::int64_t>(numbers.size()) >= kLongestRange) throw TemplateError("a range that is too long");
    numbers.emplace_back(i);
  }
  return numbers;
}

Value keywords(const Arguments& arguments, bool is_namespace) {
  Dict dict;
  for (const auto& [name, value] : arguments.named) dict.set(name, value);
  Value made(std::move(dict));
  made.is_namespace = is_namespace;
  return made;
}

std::string formatted_time(std::time_t now, const std::string& format) {
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::array<char, 256> text{};
  return std::string(text.data(), std::strftime(text.data(), text.size(), format.c_str(), &parts));
}

}  // namespace

Value Machine::look_up(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  }
  return Undefined{name};
}

Value Machine::evaluate(const Expression& e) {
  count_work();
  const auto part = [&](std::size_t i) { return evaluate(*e.parts[i]); };
  switch (e.kind) {
    case Kind::kConstant: return e.constant;
    case Kind::kName: return look_up(e.name);
    case Kind::kList: {
      List list;
      for (const ExpressionPtr& item : e.parts) list.push_back(evaluate(*item));
      return list;
    }
    case Kind::kDict: {
      Dict dict;
      for (std::size_t i = 0; i + 1 < e.parts.size(); i += 2) dict.set(to_text(part(i)), part(i + 1));
      return dict;
    }
    case Kind::kMember: return member_of(part(0), e.name);
    case Kind::kItem: return item(e);
    case Kind::kSlice: return slice(e);
    case Kind::kCall: return call(e);
    case Kind::kFilter: return apply_filter(e.name, part(0), arguments_of(e));
    case Kind::kTest: return test(e);
    case Kind::kUnary:
      if (e.name == "not") return !part(0).truth();
      return apply_operator(e.name, std::int64_t{0}, part(0));
    case Kind::kBinary: return binary(e);
    case Kind::kCompare: return compare(e);
    case Kind::kChoice:
      if (part(1).truth()) return part(0);
      return e.parts[2] ? part(2) : Value(Undefined{"the other choice"});
  }
  return {};
}

Value Machine::test(const Expression& e) {
  const Expression& of = *e.parts[0];
  const Value value = evaluate(of);
  const bool function = of.kind == Kind::kName && value.is_undefined() && is_function(of.name);
  if (function && (e.name == "defined" || e.name == "undefined" || e.name == "callable")) return e.name != "undefined";
  return apply_test(e.name, value, arguments_of(e));
}

Value Machine::item(const Expression& e) {
  const Value value = evaluate(*e.parts[0]);
  const Value index = evaluate(*e.parts[1]);
  if (index.text()) return member_of(value, *index.text());
  if (value.is_undefined()) throw TemplateError(fmt::format("{}, has no elements", value.kind()));
  if (!index.is_number() || value.dict()) return Undefined{to_text(index)};
  return value.list() ? element(*value.list(), index.integer()) : element(items_of(value), index.integer());
}

/// Python's slice of a list or text.
Value Machine::slice(const Expression& e) {
  const Value value = evaluate(*e.parts[0]);
  const List items = items_of(value);
  const auto count = static_cast<std::int64_t>(items.size());
  const auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
    if (!e.parts[i]) return std::nullopt;
    const Value given = evaluate(*e.parts[i]);
    return given.is_none() ? std::nullopt : std::optional(given.integer());
  };
  const std::int64_t step = bound(3).value_or(1);
  if (step == 0) throw TemplateError("a slice of step 0");
  const auto within = [&](std::int64_t i) {
    if (i < 0) i += count;
    return std::clamp<std::int64_t>(i, step > 0 ? 0 : -1, step > 0 ? count : count - 1);
  };
  const auto first = bound(1);
  const auto last = bound(2);
  const std::int64_t begin = first ? within(*first) : step > 0 ? 0 : count - 1;
  const std::int64_t end = last ? within(*last) : step > 0 ? count : -1;
  List chosen;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step) chosen.push_back(items[static_cast<std::size_t>(i)]);
  return value.text() ? apply_filter("join", chosen, {}) : Value(std::move(chosen));
}

Value Machine::binary(const Expression& e) {
  Value left = evaluate(*e.parts[0]);
  if (e.name == "and") return left.truth() ? evaluate(*e.parts[1]) : left;
  if (e.name == "or") return left.truth() ? left : evaluate(*e.parts[1]);
  return apply_operator(e.name, left, evaluate(*e.parts[1]));
}

bool Machine::compare(const Expression& e) {
  Value left = evaluate(*e.parts[0]);
  for (std::size_t i = 0; i < e.operators.size(); ++i) {
    Value right = evaluate(*e.parts[i + 1]);
    const std::string& sign = e.operators[i];
    bool holds = false;
    if (sign == "==" || sign == "!=") holds = equal(left, right) == (sign == "==");
    if (sign == "<") holds = less(left, right);
    if (sign == ">") holds = less(right, left);
    if (sign == "<=") holds = less(left, right) || equal(left, right);
    if (sign == ">=") holds = less(right, left) || equal(left, right);
    if (sign == "in" || sign == "not in") holds = contains(right, left) == (sign == "in");
    if (!holds) return false;
    left = std::move(right);
  }
  return true;
}

Arguments Machine::arguments_of(const Expression& e) {
  Arguments arguments;
  for (std::size_t i = 1; i < e.parts.size(); ++i) arguments.values.push_back(evaluate(*e.parts[i]));
  for (const auto& [name, value] : e.named) arguments.named.emplace_back(name, evaluate(*value));
  return arguments;
}

Value Machine::call(const Expression& e) {
  const Arguments arguments = arguments_of(e);
  const Expression& callee = *e.parts[0];
  Value function;
  if (callee.kind == Kind::kMember) {
    const Value self = evaluate(*callee.parts[0]);
    if (callee.name == "cycle" && self.dict() && self.dict()->find("index0") && !arguments.values.empty()) {
      const auto count = static_cast<std::int64_t>(arguments.values.size());
      return element(arguments.values, self.dict()->find("index0")->integer() % count);
    }
    if (auto made = call_method(self, callee.name, arguments)) return *made;
    function = member_of(self, callee.name);
  } else {
    function = evaluate(callee);
  }
  if (const auto* macro = function.get<std::shared_ptr<const Macro>>()) return call_macro(**macro, arguments);
  if (callee.kind == Kind::kName && function.is_undefined()) return call_function(callee.name, arguments);
  throw TemplateError(fmt::format("line {}: '{}' cannot be called", e.line, callee.name));
}

bool Machine::is_function(const std::string& name) {
  static const std::set<std::string> kNames{"raise_exception", "namespace", "dict", "range", "strftime_now"};
  return kNames.contains(name);
}

Value Machine::call_function(const std::string& name, const Arguments& arguments) {
  if (name == "raise_exception") throw TemplateError(arguments.text(0));
  if (name == "namespace" || name == "dict") return keywords(arguments, name == "namespace");
  if (name == "range") return range(arguments);
  if (name == "strftime_now") return formatted_time(now_, arguments.text(0));
  throw TemplateError(fmt::format("the function '{}' is not known here", name));
}

/// A macro sees the template's own names and its parameters, not those of the place where it is called.
Value Machine::call_macro(const Macro& macro, const Arguments& arguments) {
  if (depth_ >= kDeepestCalls) throw TemplateError(fmt::format("the macro '{}' calls itself too often", macro.name));
  if (arguments.values.size() > macro.parameters.size()) {
    throw TemplateError(fmt::format("the macro '{}' takes {} arguments", macro.name, macro.parameters.size()));
  }
  std::vector<Scope> outer(std::make_move_iterator(scopes_.begin() + 1), std::make_move_iterator(scopes_.end()));
  scopes_.resize(1);
  scopes_.emplace_back();
  ++depth_;
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    const Value* given = arguments.find(i, parameter.name);
    Value value = given ? *given : parameter.value ? evaluate(*parameter.value) : Value(Undefined{parameter.name});
    scopes_.back()[parameter.name] = std::move(value);
  }
  std::string text = captured(macro.body);
  --depth_;
  scopes_.resize(1);
  scopes_.insert(scopes_.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
  return text;
}

}  // namespace plimsoll::chat
