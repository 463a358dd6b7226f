#include "cli/options/stack_adapters.h"

#include <fmt/format.h>

#include <utility>

#include "cli/options/partner_options.h"
#include "cli/options/peft_method.h"
#include "core/model/parameters.h"
#include "sim/stack/trained_parameters.h"

namespace plimsoll {
namespace {

/// LitGPT's and torchtune's adapters are so anyway, and Unsloth's never.
Result<void> check_narrow_adapters(const TrainingFlags& training, const StackSetup& setup) {
  const bool adapters = !training.adapter.lora.empty() || !training.adapter.peft.empty();
  if (!setup.narrow_adapters || (adapters && setup.modules == ModuleStyle::kHuggingFace)) return {};
  return fail({.kind = ErrorKind::kInput,
               .what = "--narrow-adapters would be ignored: it is of PEFT's adapters in transformers' modules",
               .where = {},
               .remedy = "add --lora and --modules huggingface, or leave it out"});
}

/// A frozen model in fp32 under autocast: where it is said, and in LitGPT's loops, whose mixed precision (Fabric's) leaves weights as they are made.
Result<void> take_wide_base(TrainingFlags& training, StackSetup& setup) {
  AdapterFlags& adapter = training.adapter;
  const bool mixed = training.precision == "bf16-mixed" || training.precision == "fp16-mixed";
  if (!adapter.lora.empty() && !adapter.base_bits && mixed && setup.modules == ModuleStyle::kLitGpt) setup.wide_base = true;
  if (adapter.base_bits.value_or(16) != 32) return {};
  if (setup.stack != Stack::kPytorch || setup.zero > 0 || !mixed) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "a frozen model is kept in 32 bits under PyTorch's autocast alone, whole on every GPU",
                 .where = "--base-bits",
                 .remedy = "add --stack pytorch --precision bf16-mixed, or take 16"});
  }
  setup.wide_base = true;
  adapter.base_bits.reset();
  return {};
}

}  // namespace

Result<void> take_stack_adapters(const StackFlags& flags, const ModelSpec& spec, TrainingFlags& training, StackSetup& setup) {
  const auto method = take_peft_method(training.adapter, spec);
  if (!method) return fail(method.error());
  setup.adapter = *method;
  if (const auto wide = take_wide_base(training, setup); !wide) return fail(wide.error());
  const bool encoded = training.adapter.base_bits.value_or(16) < 16;
  if (!flags.kbit_preparation.empty() && !encoded) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--kbit-preparation would be ignored: it is of a base of 4 or 8 bits",
                 .where = {},
                 .remedy = "add --base-bits 4"});
  }
  if (setup.plain_scales && training.adapter.base_bits.value_or(16) != 4) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--double-quant would be ignored: it is of a base of 4 bits",
                 .where = {},
                 .remedy = "add --base-bits 4"});
  }
  const bool bitsandbytes = training.adapter.base_bits.value_or(16) == 4 && setup.modules != ModuleStyle::kTorchTune &&
                            setup.modules != ModuleStyle::kUnsloth;  // which have 4-bit layers of their own
  if (setup.older_bitsandbytes && !bitsandbytes) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--older-bitsandbytes would be ignored: it is of bitsandbytes' layers of 4 bits",
                 .where = {},
                 .remedy = "add --base-bits 4, or leave it out"});
  }
  if (const auto sound = check_narrow_adapters(training, setup); !sound) return fail(sound.error());
  // PEFT's preparation turns checkpoints on where nobody says otherwise.
  if (encoded && prepares_kbit(setup) && !is_given(flags, "--recompute")) setup.recomputation = Recomputation::kFull;
  if (training.adapter.lora.empty()) return {};
  setup.adapter_dropout = std::exchange(training.adapter.dropout, 0.0);
  return {};
}

namespace {

std::string what_stands(const AdapterSpec& adapter, const AdapterSetup& setup) {
  std::string text(to_text(setup.method));
  if (setup.method == AdapterMethod::kPrompt) text += fmt::format(" of {} tokens", setup.virtual_tokens);
  if (has_rank(setup.method)) text += fmt::format(" of rank {}", adapter.rank);
  if (has_targets(setup.method)) text += fmt::format(" beside {}", to_text(adapter.targets));
  if (setup.copies_embedding || setup.copies_head) text += fmt::format(", and a copy of {}", copies_text(setup));
  return text;
}

}  // namespace

std::string describe_trained(const ModelSpec& spec, const Recipe& recipe, const StackSetup& setup, const GpuEntry& gpu) {
  const auto all = static_cast<double>(parameter_count(spec)), trained = static_cast<double>(trained_parameters(spec, recipe, setup, gpu));
  return fmt::format("{}: {:.2f} M parameters are trained, {:.2f} % of the model's {:.2f} M, which stay as they are", what_stands(recipe.adapter, setup.adapter),
                     trained * 1e-6, 100 * trained / all, all * 1e-6);
}

}  // namespace plimsoll
