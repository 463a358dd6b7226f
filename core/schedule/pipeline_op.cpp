#include "core/schedule/pipeline_op.h"

#include <fmt/format.h>

#include <charconv>

namespace plimsoll {
namespace {

constexpr std::string_view kLetters = "FBIW";

/// Takes a number of at most nine digits off the front of `text`; false when there is none.
bool take_number(std::string_view& text, std::uint32_t& number) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > 9) return false;
  std::from_chars(text.data(), text.data() + digits, number);
  text.remove_prefix(digits);
  return true;
}

}  // namespace

char letter_of(PipelineWork work) { return kLetters[static_cast<std::size_t>(work)]; }

std::string to_text(const PipelineOp& op) {
  return fmt::format("{}{}{}", op.stage.index, letter_of(op.work), op.micro_batch.index);
}

Result<PipelineOp> parse_pipeline_op(std::string_view text) {
  PipelineOp op;
  std::string_view rest = text;
  const bool has_stage = take_number(rest, op.stage.index);
  const std::size_t work = has_stage && !rest.empty() ? kLetters.find(rest.front()) : std::string_view::npos;
  if (work != std::string_view::npos) {
    op.work = static_cast<PipelineWork>(work);
    rest.remove_prefix(1);
    if (take_number(rest, op.micro_batch.index) && rest.empty()) return op;
  }
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("'{}' is no op", text.substr(0, 40)),
               .where = {},
               .remedy = "write stage, F, B, I or W, and micro-batch, as in 3B0"});
}

}  // namespace plimsoll
