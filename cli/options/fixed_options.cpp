#include "cli/options/fixed_options.h"

#include <fmt/format.h>

#include <algorithm>

namespace plimsoll {
namespace {

struct NumberOption {
  const char* name;
  std::string (*value)(const Recipe&);
};

std::string real(double value) { return fmt::format("{}", value); }

std::string lora(const Recipe& r) {
  return r.adapter.exists() ? fmt::format("{}:{}", r.adapter.rank, to_text(r.adapter.targets)) : std::string("no adapters");
}

constexpr NumberOption kNumberOptions[] = {
    {"--batch", [](const Recipe& r) { return std::to_string(r.micro_batch); }},
    {"--accumulate", [](const Recipe& r) { return std::to_string(r.accumulate); }},
    {"--global-batch", [](const Recipe& r) { return std::to_string(r.micro_batch * r.accumulate); }},
    {"--seq", [](const Recipe& r) { return std::to_string(r.sequence); }},
    {"--target-seq", [](const Recipe& r) { return std::to_string(target_tokens(r)); }},
    {"--precision", [](const Recipe& r) { return std::string(to_text(r.precision)); }},
    {"--loss-scale", [](const Recipe& r) { return to_text(r.loss_scaling); }},
    {"--optimizer", [](const Recipe& r) { return std::string(to_text(r.optimizer)); }},
    {"--clip", [](const Recipe& r) { return real(r.clip); }},
    {"--lr", [](const Recipe& r) { return real(r.learning_rate); }},
    {"--schedule", [](const Recipe& r) { return std::string(to_text(r.schedule)); }},
    {"--warmup", [](const Recipe& r) { return std::to_string(r.warmup_steps); }},
    {"--weight-decay", [](const Recipe& r) { return real(r.weight_decay); }},
    {"--betas", [](const Recipe& r) { return real(r.beta1) + "," + real(r.beta2); }},
    {"--eps", [](const Recipe& r) { return real(r.epsilon); }},
    {"--momentum", [](const Recipe& r) { return real(r.momentum); }},
    {"--nesterov", [](const Recipe& r) { return std::string(r.nesterov ? "set" : "unset"); }},
    {"--trust", [](const Recipe& r) { return real(r.trust); }},
    {"--absolute-step", [](const Recipe& r) { return std::string(r.relative_step ? "unset" : "set"); }},
    {"--seed", [](const Recipe& r) { return std::to_string(r.seed); }},
    {"--lora", lora},
    {"--lora-alpha", [](const Recipe& r) { return real(r.adapter.alpha); }},
    {"--base-bits", [](const Recipe& r) { return std::string(to_text(r.adapter.base)); }},
    {"--matmul", [](const Recipe& r) { return std::string(to_text(r.matmul)); }},
};

}  // namespace

Result<void> check_fixed_options(const RunFlags& flags, const ModelSpec& spec, const Recipe& fixed,
                                 const std::string& source) {
  const auto given = [&](const char* name) {
    return std::find(flags.given.begin(), flags.given.end(), name) != flags.given.end();
  };
  TrainingFlags training = flags.training;
  if (!given("--batch")) training.batch = fixed.micro_batch;  // --global-batch counts in micro-batches
  if (!given("--optimizer")) training.optimizer = to_text(fixed.optimizer);
  std::vector<std::string> unused_notes;
  auto asked = make_recipe(training, spec, fixed.precision, {}, unused_notes);
  if (!asked) return fail(asked.error());
  if (!flags.matmul.empty()) {
    const auto library = parse_matmul(flags.matmul);
    if (!library) return fail(library.error());
    asked->matmul = *library;
  }
  for (const NumberOption& option : kNumberOptions) {
    if (!given(option.name) || option.value(*asked) == option.value(fixed)) continue;
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} {} does not go with {}, which has {}", option.name, option.value(*asked),
                                     source, option.value(fixed)),
                 .where = {},
                 .remedy = fmt::format("leave {} out", option.name)});
  }
  return {};
}

}  // namespace plimsoll
