#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>

#include "formats/chat/arguments.h"

namespace plimsoll::chat {
namespace {

using Test = std::function<bool(const Value&, const Arguments&)>;

bool is_sequence(const Value& value) { return value.list() || value.text() || value.dict(); }

std::map<std::string, Test> make_tests() {
  const auto integer = [](const Value& v) { return v.get<std::int64_t>() != nullptr; };
  std::map<std::string, Test> tests{
      {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
      {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
      {"none", [](const Value& v, const Arguments&) { return v.is_none(); }},
      {"string", [](const Value& v, const Arguments&) { return v.text() != nullptr; }},
      {"mapping", [](const Value& v, const Arguments&) { return v.dict() != nullptr; }},
      {"sequence", [](const Value& v, const Arguments&) { return is_sequence(v); }},
      {"iterable", [](const Value& v, const Arguments&) { return is_sequence(v) || v.is_undefined(); }},
      {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
      {"integer", [=](const Value& v, const Arguments&) { return integer(v); }},
      {"float", [](const Value& v, const Arguments&) { return v.get<double>() != nullptr; }},
      {"boolean", [](const Value& v, const Arguments&) { return v.get<bool>() != nullptr; }},
      {"true", [](const Value& v, const Arguments&) { return v.get<bool>() && v.truth(); }},
      {"false", [](const Value& v, const Arguments&) { return v.get<bool>() && !v.truth(); }},
      {"callable", [](const Value& v, const Arguments&) { return v.get<std::shared_ptr<const Macro>>() != nullptr; }},
      {"odd", [](const Value& v, const Arguments&) { return v.integer() % 2 != 0; }},
      {"even", [](const Value& v, const Arguments&) { return v.integer() % 2 == 0; }},
      {"divisibleby", [](const Value& v, const Arguments& a) {
         const std::int64_t by = a.need(0).integer();
         if (by == 0) throw TemplateError("division by zero");
         return v.integer() % by == 0;
       }},
      {"in", [](const Value& v, const Arguments& a) { return contains(a.need(0), v); }},
      {"upper", [](const Value& v, const Arguments&) { return equal(v, apply_filter("upper", v, {})); }},
      {"lower", [](const Value& v, const Arguments&) { return equal(v, apply_filter("lower", v, {})); }},
  };
  for (const char* name : {"eq", "equalto", "==", "sameas"}) {
    tests[name] = [](const Value& v, const Arguments& a) { return equal(v, a.need(0)); };
  }
  for (const char* name : {"ne", "!="}) tests[name] = [](const Value& v, const Arguments& a) { return !equal(v, a.need(0)); };
  for (const char* name : {"lt", "lessthan", "<"}) tests[name] = [](const Value& v, const Arguments& a) { return less(v, a.need(0)); };
  for (const char* name : {"gt", "greaterthan", ">"}) {
    tests[name] = [](const Value& v, const Arguments& a) { return less(a.need(0), v); };
  }
  for (const char* name : {"le", "<="}) tests[name] = [](const Value& v, const Arguments& a) { return !less(a.need(0), v); };
  for (const char* name : {"ge", ">="}) tests[name] = [](const Value& v, const Arguments& a) { return !less(v, a.need(0)); };
  return tests;
}

}  // namespace

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments) {
  static const std::map<std::string, Test> kTests = make_tests();
  const auto found = kTests.find(name);
  if (found == kTests.end()) throw TemplateError(fmt::format("the test '{}' is not known here", name));
  return found->second(value, arguments);
}

}  // namespace plimsoll::chat
