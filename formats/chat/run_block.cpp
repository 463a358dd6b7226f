#include <fmt/format.h>

#include "formats/chat/machine.h"

namespace plimsoll::chat {
namespace {

constexpr std::int64_t kMostWork = 2'000'000;  ///< statements and expressions of one text
constexpr std::size_t kLongestText = std::size_t{1} << 28;

/// What a template sees as `loop` on its way through `all`.
Value loop_state(const List& all, std::size_t index) {
  const auto at = static_cast<std::int64_t>(index);
  const auto count = static_cast<std::int64_t>(all.size());
  Dict state;
  state.entries = {{"index", at + 1},
                   {"index0", at},
                   {"revindex", count - at},
                   {"revindex0", count - at - 1},
                   {"first", at == 0},
                   {"last", at + 1 == count},
                   {"length", count},
                   {"previtem", at > 0 ? all[index - 1] : Value(Undefined{"loop.previtem"})},
                   {"nextitem", at + 1 < count ? all[index + 1] : Value(Undefined{"loop.nextitem"})}};
  return state;
}

}  // namespace

Machine::Machine(std::map<std::string, Value> globals, std::time_t now) : scopes_{std::move(globals)}, now_(now) {}

std::string Machine::run(const Block& block) {
  std::string out;
  carry_out(block, out);
  return out;
}

void Machine::count_work() {
  if (++work_ > kMostWork) throw TemplateError("the template takes too long");
}

Machine::Flow Machine::carry_out(const Block& block, std::string& out) {
  for (const Statement& statement : block) {
    count_work();
    if (out.size() > kLongestText) throw TemplateError("the text became too long");
    const Flow flow = carry_out(statement, out);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Machine::Flow Machine::carry_out(const Statement& statement, std::string& out) {
  switch (statement.kind) {
    case Statement::Kind::kData: out += statement.text; break;
    case Statement::Kind::kPrint: out += to_text(evaluate(*statement.expression)); break;
    case Statement::Kind::kIf:
      return carry_out(evaluate(*statement.expression).truth() ? statement.body : statement.otherwise, out);
    case Statement::Kind::kFor: loop(statement, out); break;
    case Statement::Kind::kSet: set(statement); break;
    case Statement::Kind::kSetMember: set_member(statement); break;
    case Statement::Kind::kSetBlock:
      bind(statement.names, through_filters(statement, captured(statement.body)));
      break;
    case Statement::Kind::kFilter: out += to_text(through_filters(statement, captured(statement.body))); break;
    case Statement::Kind::kMacro: scopes_.back()[statement.macro->name] = Value(statement.macro); break;
    case Statement::Kind::kGeneration: {
      if (captures_ > 0) throw TemplateError(fmt::format("line {}: a generation block within a macro or set", statement.line));
      const std::size_t begin = out.size();
      const Flow flow = carry_out(statement.body, out);
      generations_.push_back({begin, out.size()});
      return flow;
    }
    case Statement::Kind::kBreak: return Flow::kBreak;
    case Statement::Kind::kContinue: return Flow::kContinue;
  }
  return Flow::kOn;
}

/// What the loop goes through: with a condition, only what meets it.
List Machine::loop_items(const Statement& statement) {
  List all = items_of(evaluate(*statement.expression));
  if (!statement.condition) return all;
  List chosen;
  scopes_.emplace_back();
  for (Value& item : all) {
    bind(statement.names, item);
    if (evaluate(*statement.condition).truth()) chosen.push_back(std::move(item));
  }
  scopes_.pop_back();
  return chosen;
}

void Machine::loop(const Statement& statement, std::string& out) {
  const List all = loop_items(statement);
  for (std::size_t i = 0; i < all.size(); ++i) {
    scopes_.emplace_back();
    bind(statement.names, all[i]);
    scopes_.back()["loop"] = loop_state(all, i);
    const Flow flow = carry_out(statement.body, out);
    scopes_.pop_back();
    if (flow == Flow::kBreak) return;
  }
  if (all.empty()) carry_out(statement.otherwise, out);
}

void Machine::bind(const std::vector<std::string>& names, const Value& value) {
  if (names.size() == 1) {
    scopes_.back()[names.front()] = value;
    return;
  }
  const List parts = items_of(value);
  if (parts.size() != names.size()) throw TemplateError(fmt::format("{} values for {} names", parts.size(), names.size()));
  for (std::size_t i = 0; i < names.size(); ++i) scopes_.back()[names[i]] = parts[i];
}

void Machine::set(const Statement& statement) { bind(statement.names, evaluate(*statement.expression)); }

void Machine::set_member(const Statement& statement) {
  const Value value = evaluate(*statement.expression);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->find(statement.text);
    if (found == scope->end()) continue;
    Dict* members = found->second.changeable();
    if (members == nullptr) break;
    members->set(statement.names.front(), value);
    return;
  }
  throw TemplateError(fmt::format("line {}: '{}' is no namespace", statement.line, statement.text));
}

std::string Machine::captured(const Block& block) {
  std::string text;
  ++captures_;
  scopes_.emplace_back();
  carry_out(block, text);
  scopes_.pop_back();
  --captures_;
  return text;
}

Value Machine::through_filters(const Statement& statement, std::string text) {
  scopes_.emplace_back();
  scopes_.back()[kCaptured] = std::move(text);
  Value value = evaluate(*statement.expression);
  scopes_.pop_back();
  return value;
}

}  // namespace plimsoll::chat
