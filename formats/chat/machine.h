#pragma once

#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "formats/chat/arguments.h"
#include "formats/chat/syntax.h"
#include "formats/tokenizers/regex.h"

namespace plimsoll::chat {

/// Carries a template out: statements append to a text, expressions yield values. Bounded in work and text, so that no
/// template runs for ever. Throws TemplateError.
class Machine {
 public:
  /// `now`: what strftime_now tells.
  Machine(std::map<std::string, Value> globals, std::time_t now);

  /// The text of the whole template; once.
  std::string run(const Block& block);
  /// Where {% generation %} blocks lie in that text.
  [[nodiscard]] const std::vector<TextSpan>& generations() const { return generations_; }

 private:
  enum class Flow { kOn, kBreak, kContinue };
  using Scope = std::map<std::string, Value>;

  Flow carry_out(const Block& block, std::string& out);
  Flow carry_out(const Statement& statement, std::string& out);
  void loop(const Statement& statement, std::string& out);
  List loop_items(const Statement& statement);
  void set(const Statement& statement);
  void set_member(const Statement& statement);
  void bind(const std::vector<std::string>& names, const Value& value);
  std::string captured(const Block& block);
  Value through_filters(const Statement& statement, std::string text);

  Value evaluate(const Expression& expression);
  Value look_up(const std::string& name) const;
  Value test(const Expression& expression);
  Value item(const Expression& expression);
  Value slice(const Expression& expression);
  Value binary(const Expression& expression);
  bool compare(const Expression& expression);
  Value call(const Expression& expression);
  /// Whether call_function knows it.
  static bool is_function(const std::string& name);
  Value call_function(const std::string& name, const Arguments& arguments);
  Value call_macro(const Macro& macro, const Arguments& arguments);
  Arguments arguments_of(const Expression& expression);
  void count_work();

  std::vector<Scope> scopes_;
  std::time_t now_;
  std::vector<TextSpan> generations_;
  std::int64_t work_ = 0;
  int depth_ = 0;      ///< of macro calls and nested blocks
  int captures_ = 0;   ///< texts that are not the template's own
};

}  // namespace plimsoll::chat
