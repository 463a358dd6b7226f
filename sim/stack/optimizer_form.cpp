#include "sim/stack/optimizer_form.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "sim/stack/stack_setup.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<GradientProjection, std::string_view>, 3> kProjections{{{GradientProjection::kGalore, "galore"},
                                                                                       {GradientProjection::kApollo, "apollo"},
                                                                                       {GradientProjection::kApolloMini, "apollo-mini"}}};

std::string_view name_of(GradientProjection projection) {
  switch (projection) {
    case GradientProjection::kGalore: return "GaLore";
    case GradientProjection::kApollo: return "APOLLO";
    case GradientProjection::kApolloMini: return "APOLLO-Mini";
    case GradientProjection::kNone: break;
  }
  return "";
}

tl::unexpected<Error> bad_projection(std::string_view text) {
  return fail({.kind = ErrorKind::kInput,
               .what = fmt::format("--projection '{}' is no projection of gradients", text),
               .where = {},
               .remedy = "choose galore:RANK, apollo:RANK or apollo-mini, with :STEPS between new projectors behind it"});
}

/// The numbers behind the colons of a text; nothing where one is no whole number above 0.
std::optional<std::vector<std::int64_t>> numbers_behind(std::string_view text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos; colon = text.find(':')) {
    text.remove_prefix(colon + 1);
    const std::string_view number = text.substr(0, text.find(':'));
    std::int64_t value = 0;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    if (read.ec != std::errc{} || read.ptr != number.data() + number.size() || value < 1) return std::nullopt;
    numbers.push_back(value);
  }
  return numbers;
}

Result<void> refuse(std::string what, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

bool is_adam(OptimizerKind kind) { return kind == OptimizerKind::kAdam || kind == OptimizerKind::kAdamW; }

/// bitsandbytes pages 32-bit and 8-bit states of AdamW, Adam and Lion.
bool can_page(OptimizerKind kind) { return is_adam(kind) || kind == OptimizerKind::kAdam8bit || kind == OptimizerKind::kLion; }

std::string_view option_of(const OptimizerForm& form) {
  if (form.projects()) return "--projection";
  return form.bits > 0 ? "--state-bits" : "--paged-states";
}

/// What of the recipe the packages have no such optimizer for.
Result<void> check_rule(const Recipe& recipe, const OptimizerForm& form) {
  const OptimizerKind rule = recipe.optimizer;
  if (form.projects() && !is_adam(rule) && rule != OptimizerKind::kAdam8bit) {
    return refuse(fmt::format("{} projects gradients of Adam's, not of {}", name_of(form.projection), to_text(rule)),
                  "use --optimizer adamw or adam8bit with --projection");
  }
  if (form.projects() && recipe.adapter.exists()) {
    return refuse(fmt::format("{} projects gradients of a model's hidden matrices, not of adapters beside them", name_of(form.projection)),
                  "leave --projection out with --lora");
  }
  if (form.bits > 0 && !is_adam(rule)) {
    return refuse(fmt::format("torchao keeps states of Adam's in 4 bits, not of {}", to_text(rule)), "use --optimizer adamw with --state-bits 4");
  }
  if (form.paged && !can_page(rule)) {
    return refuse(fmt::format("bitsandbytes pages states of adamw, adam, adam8bit and lion, not of {}", to_text(rule)),
                  "leave --paged-states out, or choose another --optimizer");
  }
  return {};
}

/// A matrix has no more directions than its shorter side, and no model's blocks have matrices without a side of its width.
Result<void> check_matrices(const ModelSpec& spec, const OptimizerForm& form) {
  if (!form.projects()) return {};
  if (spec.is_conv_net()) {
    return refuse(fmt::format("{} is a convolutional net, which has no matrices of blocks whose gradients are projected", spec.name),
                  "leave --projection out");
  }
  if (form.rank <= spec.hidden) return {};
  return refuse(fmt::format("{} of rank {} is above that of the matrices themselves: blocks of {} are {} wide", name_of(form.projection), form.rank,
                            spec.name, spec.hidden),
                fmt::format("take a rank of {} or less", spec.hidden));
}

}  // namespace

Result<OptimizerForm> parse_projection(std::string_view text) {
  const std::string_view named = text.substr(0, text.find(':'));
  const auto numbers = numbers_behind(text);
  for (const auto& [projection, name] : kProjections) {
    if (name != named || !numbers) continue;
    const std::size_t of_rank = projection == GradientProjection::kApolloMini ? 0 : 1;
    if (numbers->size() < of_rank || numbers->size() > of_rank + 1) return bad_projection(text);
    OptimizerForm form{.projection = projection, .rank = of_rank == 1 ? numbers->front() : 1};
    if (numbers->size() > of_rank) form.every = numbers->back();
    return form;
  }
  return bad_projection(text);
}

std::string describe(const OptimizerForm& form) {
  std::string text;
  if (form.projection == GradientProjection::kApolloMini) text += ", APOLLO-Mini";
  else if (form.projects()) text += fmt::format(", {} of rank {}", name_of(form.projection), form.rank);
  if (form.bits > 0) text += fmt::format(", states in {} bits", form.bits);
  if (form.paged) text += ", states paged";
  if (form.wide_embedding) text += ", an embedding's in 32 bits";
  return text;
}

Result<void> check_optimizer_form(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup) {
  const OptimizerForm& form = setup.optimizer_form;
  const bool named = setup.stack == Stack::kPytorch && setup.zero == 0 && recipe.optimizer == OptimizerKind::kAdam8bit;
  if (form.wide_embedding && !named) {
    return refuse("--wide-embedding-states would be ignored: it is of bitsandbytes' 8-bit Adam under PyTorch, whose states every GPU has whole",
                  "add --stack pytorch --optimizer adam8bit, or leave it out");
  }
  if (!form.exists()) return {};
  if (setup.stack != Stack::kPytorch) {
    return refuse(fmt::format("{} is modelled of --stack pytorch, not of {}", option_of(form), to_text(setup.stack)), "add --stack pytorch, or leave it out");
  }
  if (setup.zero > 0 || setup.half_weights) {
    return refuse(fmt::format("{} is modelled of states that every GPU has whole", option_of(form)), "leave --zero out");
  }
  if (form.projects() && (form.bits > 0 || form.paged)) {
    return refuse(fmt::format("no package keeps the states of {} in 4 bits or in managed memory", name_of(form.projection)),
                  "leave --state-bits and --paged-states out");
  }
  if (form.bits > 0 && form.paged) return refuse("bitsandbytes pages states of 8 and of 32 bits, not of 4", "leave --state-bits or --paged-states out");
  if (const auto has = check_matrices(spec, form); !has) return has;
  return check_rule(recipe, form);
}

}  // namespace plimsoll
