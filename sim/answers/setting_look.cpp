#include "sim/answers/setting_look.h"

#include <algorithm>

#include "sim/answers/stack_question.h"

namespace plimsoll {
namespace {

/// Rounds of the two short steps. With DDP and FSDP a step of 2 micro-batches was told to need what one of 64 does (Llama 3.2 1B, all numbers of
/// its memory); best_settings_test holds further ones to it.
constexpr std::int64_t kShort = 4;
constexpr std::int64_t kLonger = 5;
constexpr std::int64_t kWhole = 8;  ///< up to so many rounds a step is predicted as it is

}  // namespace

SettingLook look_of(const FitAnswer& answer) {
  SettingLook look{.step_seconds = answer.step_seconds, .step_low = answer.step_seconds_low, .step_high = answer.step_seconds_high, .fits = answer.fits};
  for (const SpaceAnswer& space : answer.memory) {
    look.short_of += std::max(Bytes(0), space.peak - space.usable);
    if (space.space == "host") look.host = space.peak;
  }
  if (answer.memory.empty()) return look;
  look.device = answer.memory.front().peak;
  look.certain = answer.memory.front().certain;
  return look;
}

Result<SettingLook> look_at(const Question& question) {
  if (const auto valid = validate(question.recipe, question.spec); !valid) return fail(valid.error());
  const std::int64_t round = question.stack->stages, whole = question.recipe.accumulate;
  Question cut = question;
  if (whole > kWhole * round && whole % round == 0) cut.recipe.accumulate = kLonger * round;
  const auto longer = answer_for_stack(cut);
  if (!longer) return fail(longer.error());
  SettingLook look = look_of(*longer);
  if (cut.recipe.accumulate == whole) return look;
  cut.recipe.accumulate = kShort * round;
  const auto brief = answer_for_stack(cut);
  if (!brief) return fail(brief.error());
  const auto rounds = static_cast<double>(whole / round - kLonger);
  look.step_seconds += rounds * (longer->step_seconds - brief->step_seconds);
  look.step_low += rounds * (longer->step_seconds_low - brief->step_seconds_low);
  look.step_high += rounds * (longer->step_seconds_high - brief->step_seconds_high);
  return look;
}

}  // namespace plimsoll
