#include "cli/options/stack_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/exporters/read_deepspeed.h"
#include "formats/text/parse_json.h"
#include "formats/text/read_text_file.h"
#include "sim/stack/exported_setup.h"

namespace plimsoll {
namespace {

constexpr Bytes kLargestFile{std::int64_t{1} << 20};

/// One thing that the file decides; the flag may say the same or nothing.
template <typename Flag, typename Value>
Result<void> decide(Flag& flag, bool unset, const Value& value, const std::string& option, const std::string& file) {
  if (!unset && !(flag == value)) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("{} does not go with what the file says", option),
                 .where = file,
                 .remedy = fmt::format("leave {} out, or change the file", option)});
  }
  flag = value;
  return {};
}

template <typename Value>
Result<void> decide_optional(std::optional<Value>& flag, const std::optional<Value>& value, const std::string& option,
                             const std::string& file) {
  if (!value) return {};
  return decide(flag, !flag, value, option, file);
}

Result<void> decide_batch(const DeepspeedConfiguration& read, TrainingFlags& training, const std::string& file) {
  if (read.micro_batch) {
    if (auto set = decide(training.batch, training.batch == 1, *read.micro_batch, "--batch", file); !set) return set;
  }
  if (!read.accumulate) return {};
  if (training.global_batch) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--global-batch does not go with gradient_accumulation_steps",
                 .where = file,
                 .remedy = "leave it out"});
  }
  return decide(training.accumulate, training.accumulate == 1, *read.accumulate, "--accumulate", file);
}

Result<void> decide_numbers(const DeepspeedConfiguration& read, TrainingFlags& training, const std::string& file) {
  if (auto set = decide_batch(read, training, file); !set) return set;
  if (read.precision) {
    const std::string named(to_text(*read.precision));
    const bool tf32 = training.precision == to_text(Precision::kTf32) && *read.precision == Precision::kFp32;
    if (auto set = decide(training.precision, training.precision.empty(), tf32 ? training.precision : named,
                          "--precision", file);
        !set)
      return set;
  }
  if (read.loss_scaling) {
    if (auto set = decide(training.loss_scale, training.loss_scale == "dynamic", to_text(*read.loss_scaling),
                          "--loss-scale", file);
        !set)
      return set;
  }
  if (read.optimizer) {
    const std::string named(to_text(*read.optimizer));
    if (auto set = decide(training.optimizer, training.optimizer == "adamw", named, "--optimizer", file); !set)
      return set;
  }
  if (read.clip) {
    if (auto set = decide(training.clip, training.clip == 1.0, *read.clip, "--clip", file); !set) return set;
  }
  if (!read.betas.empty()) {
    if (auto set = decide(training.betas, training.betas.empty(), read.betas, "--betas", file); !set) return set;
  }
  if (auto set = decide_optional(training.learning_rate, read.learning_rate, "--lr", file); !set) return set;
  if (auto set = decide_optional(training.weight_decay, read.weight_decay, "--weight-decay", file); !set) return set;
  if (auto set = decide_optional(training.momentum, read.momentum, "--momentum", file); !set) return set;
  return decide_optional(training.epsilon, read.epsilon, "--eps", file);
}

Result<void> take_file(const std::string& path, const ModelSpec& spec, TrainingFlags& training, StackSetup& setup,
                       std::vector<std::string>& notes) {
  const auto text = read_text_file(path, kLargestFile);
  if (!text) return fail(text.error());
  if (const auto document = parse_json(*text, path); !document) return fail(document.error());
  if (setup.stack != Stack::kDeepspeed || !is_deepspeed(*text)) {
    return fail(
        {.kind = ErrorKind::kInput,
         .what = fmt::format("this is no configuration of {}", to_text(setup.stack)),
         .where = path,
         .remedy = "name a DeepSpeed JSON under --stack deepspeed, or leave --stack out for a strategy of plimsoll's"});
  }
  auto read = read_deepspeed(*text, path);
  if (!read) return fail(read.error());
  if (const auto set = decide_numbers(*read, training, path); !set) return set;
  if (read->checkpoints) {
    const std::int64_t blocks = std::max<std::int64_t>(1, spec.blocks()),
                       count = std::clamp<std::int64_t>(*read->checkpoints, 1, blocks);
    read->training.checkpoints = ExportedCheckpoints::kBlocks;
    read->training.every = (blocks + count - 1) / count;
  }
  if (setup.data_ranks > 1 && read->training.data_ranks == 1) read->training.data_ranks = setup.data_ranks;
  if (setup.data_ranks > 1 && read->training.data_ranks != setup.data_ranks) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("it is of {} data ranks, and {} were named", read->training.data_ranks, setup.data_ranks),
                 .where = path,
                 .remedy = "train_batch_size is train_micro_batch_size_per_gpu x gradient_accumulation_steps x data ranks; DeepSpeed refuses another"});
  }
  const auto taken = with_configuration(setup, read->training);
  if (!taken) return fail(taken.error());
  setup = *taken;
  notes.insert(notes.end(), read->notes.begin(), read->notes.end());
  if (!read->checkpoints && setup.recomputation == Recomputation::kNone) {
    notes.push_back(fmt::format("{} counts no checkpoints: say with --recompute what the model computes again", path));
  }
  return {};
}

}  // namespace

Result<void> take_stack_choices(const std::string& strategy, const ModelSpec& spec, TrainingFlags& training,
                                StackSetup& setup, std::vector<std::string>& notes) {
  if (strategy == "auto") return {};
  const bool said = setup.zero > 0 || setup.parameters != Home::kDevice || setup.optimizer != Home::kDevice ||
                    setup.selected_share > 0 || setup.automatic_placement;
  if (said) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--zero, --offload, --zenflow and --placement say what --strategy says",
                 .where = {},
                 .remedy = "leave them or --strategy out"});
  }
  if (strategy.ends_with(".json")) return take_file(strategy, spec, training, setup, notes);
  const auto taken = with_published_choices(setup, strategy);
  if (!taken) return fail(taken.error());
  setup = *taken;
  return {};
}

}  // namespace plimsoll
