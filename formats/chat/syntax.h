#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "formats/chat/value.h"

namespace plimsoll::chat {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

/// An expression; what its parts mean depends on the kind.
struct Expression {
  enum class Kind {
    kConstant,  ///< constant
    kName,      ///< name
    kList,      ///< parts
    kDict,      ///< parts: key, value, key, value …
    kMember,    ///< parts[0].name
    kItem,      ///< parts[0][parts[1]]
    kSlice,     ///< parts[0][parts[1]:parts[2]:parts[3]]; an absent one is null
    kCall,      ///< parts[0](parts[1] …, named)
    kFilter,    ///< parts[0] | name(parts[1] …, named)
    kTest,      ///< parts[0] is name(parts[1] …)
    kUnary,     ///< name ("not", "-", "+") parts[0]
    kBinary,    ///< parts[0] name parts[1]
    kCompare,   ///< parts[0] operators[0] parts[1] operators[1] parts[2] …
    kChoice,    ///< parts[0] if parts[1] else parts[2], which may be null
  };

  Kind kind = Kind::kConstant;
  int line = 1;
  std::string name;
  Value constant;
  std::vector<ExpressionPtr> parts;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> operators;
};

struct Statement;
using Block = std::vector<Statement>;

/// A parameter of a macro.
struct Parameter {
  std::string name;
  ExpressionPtr value;  ///< when nothing is given; may be null
};

/// A piece of a template; what its parts mean depends on the kind.
struct Statement {
  enum class Kind {
    kData,        ///< text
    kPrint,       ///< expression
    kIf,          ///< expression, body, otherwise
    kFor,         ///< names in expression if condition: body, otherwise (when there is nothing)
    kSet,         ///< names = expression
    kSetMember,   ///< text.names[0] = expression
    kSetBlock,    ///< names[0] = body, through the filters of expression (of a name that holds the body), if any
    kMacro,       ///< macro
    kGeneration,  ///< body is what an assistant answers
    kFilter,      ///< body through expression
    kBreak,
    kContinue,
  };

  Kind kind = Kind::kData;
  int line = 1;
  std::string text;
  std::vector<std::string> names;
  ExpressionPtr expression;
  ExpressionPtr condition;
  Block body;
  Block otherwise;
  std::shared_ptr<const Macro> macro;
};

/// The name under which a captured block stands in the expression of kSetBlock and kFilter.
inline constexpr const char* kCaptured = " captured";

struct Macro {
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
};

}  // namespace plimsoll::chat
