#include "sim/cost/shape_fields.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "formats/text/csv.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<std::string_view, std::int64_t OpShape::*>, 14> kSizes{
    {{"rows", &OpShape::rows},
     {"inputs", &OpShape::inputs},
     {"outputs", &OpShape::outputs},
     {"sequence", &OpShape::sequence},
     {"heads", &OpShape::heads},
     {"kv_heads", &OpShape::kv_heads},
     {"head_dim", &OpShape::head_dim},
     {"positions", &OpShape::positions},
     {"stride", &OpShape::stride},
     {"terms", &OpShape::terms},
     {"experts", &OpShape::experts},
     {"choices", &OpShape::choices},
     {"capacity", &OpShape::capacity},
     {"groups", &OpShape::groups}}};

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool set_field(OpShape& shape, std::string_view name, std::string_view value) {
  for (const auto& [known, member] : kSizes) {
    if (known == name) return parse_whole(value, shape.*member);
  }
  if (name == "variant") return parse_whole(value, shape.variant);
  if (name != "constant") return false;
  const auto number = parse_number(value);
  shape.constant = number.value_or(0);
  return number.has_value();
}

}  // namespace

std::string shape_text(const OpShape& shape) {
  const OpShape standard;
  std::string text;
  for (const auto& [name, member] : kSizes) {
    if (shape.*member != standard.*member) text += fmt::format(" {}={}", name, shape.*member);
  }
  if (shape.variant != standard.variant) text += fmt::format(" variant={}", static_cast<int>(shape.variant));
  if (shape.constant != standard.constant) text += fmt::format(" constant={}", shape.constant);
  return text;
}

Result<OpShape> parse_shape(std::string_view text) {
  OpShape shape;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (field.empty()) continue;
    const auto equals = field.find('=');
    if (equals == std::string_view::npos || !set_field(shape, field.substr(0, equals), field.substr(equals + 1))) {
      return fail(
          {.kind = ErrorKind::kInput, .what = fmt::format("'{}' is no kernel size", field), .where = {}, .remedy = {}});
    }
  }
  return shape;
}

}  // namespace plimsoll
