#include <fmt/format.h>

#include <algorithm>

#include "core/model/step_size.h"
#include "sim/answers/change.h"
#include "sim/stack/check_kernels.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kLoraRank = 16;

class TrainingChanges {
 public:
  TrainingChanges(const Question& question, std::vector<Change>& changes) : question_(question), changes_(changes) {}

  /// Adds the question with a changed recipe, unless nothing changed or the model cannot be trained so.
  template <typename Edit>
  void add(std::string name, ChangeEffect effect, Edit edit) {
    Question changed = question_;
    edit(changed.recipe);
    if (changed.recipe == question_.recipe || !validate(changed.recipe, changed.spec)) return;
    changes_.push_back({"training", std::move(name), effect, {}, std::move(changed)});
  }

  void batches() {
    const Recipe& now = question_.recipe;
    add(fmt::format("micro-batch {}", 2 * now.micro_batch), ChangeEffect::kTraining, [](Recipe& r) { r.micro_batch *= 2; });
    add(fmt::format("{} micro-batches a step", 4 * now.accumulate), ChangeEffect::kTraining,
        [](Recipe& r) { r.accumulate *= 4; });
    if (now.micro_batch % 2 == 0) {
      add(fmt::format("micro-batch {}, twice as many", now.micro_batch / 2), ChangeEffect::kRounding, [](Recipe& r) {
        r.micro_batch /= 2;
        r.accumulate *= 2;
      });
      add(fmt::format("micro-batch {}", now.micro_batch / 2), ChangeEffect::kTraining, [](Recipe& r) { r.micro_batch /= 2; });
    }
    if (now.accumulate % 2 == 0) {
      add(fmt::format("micro-batch {}, half as many", 2 * now.micro_batch), ChangeEffect::kRounding, [](Recipe& r) {
        r.micro_batch *= 2;
        r.accumulate /= 2;
      });
    }
  }

  void sequences() {
    const std::int64_t now = question_.recipe.sequence;
    if (question_.spec.reads_images() || now % 2 != 0) return;
    add(fmt::format("sequences of {} tokens", now / 2), ChangeEffect::kTraining, [](Recipe& r) { r.sequence /= 2; });
    if (2 * now > longest_trained(question_.spec, true)) return;
    add(fmt::format("sequences of {} tokens", 2 * now), ChangeEffect::kTraining, [](Recipe& r) { r.sequence *= 2; });
  }

  void precisions() {
    const auto use = [&](Precision precision) {
      add(fmt::format("precision {}", to_text(precision)), ChangeEffect::kTraining, [&](Recipe& r) {
        r.precision = precision;
        if (!scales_loss(precision)) r.loss_scaling = {};
      });
    };
    if (!question_.machine) return;
    const GpuEntry& gpu = question_.machine->gpu;
    if (gpu.bf16_tflops.value_or(0) > 0) use(Precision::kBf16Mixed), use(Precision::kBf16);
    if (gpu.fp16_tflops.value_or(0) > 0) use(Precision::kFp16Mixed);
    if (gpu.tf32_tflops.value_or(0) > 0) use(Precision::kTf32);
    use(Precision::kFp32);
  }

  void optimizers() {
    for (const OptimizerKind kind : {OptimizerKind::kAdam8bit, OptimizerKind::kAdafactor, OptimizerKind::kLion,
                                     OptimizerKind::kMomentum, OptimizerKind::kSgd}) {
      if (kind == question_.recipe.optimizer) continue;
      add(fmt::format("optimizer {}", to_text(kind)), ChangeEffect::kTraining, [&](Recipe& r) { r = with_optimizer(r, kind); });
    }
    if (question_.recipe.clip > 0) add("no clipping", ChangeEffect::kTraining, [](Recipe& r) { r.clip = 0; });
  }

  void adapters() {
    const AdapterSpec& now = question_.recipe.adapter;
    const bool bare = !now.exists();
    const bool frozen_experts =
        question_.spec.experts.count > 0 && !question_.stack;  // no kernels of ours (buildable.h)
    if (bare && (frozen_experts || !takes_adapters(question_.spec))) return;
    const auto lora = [&](BaseStorage base) {
      return [&, base](Recipe& r) {
        if (bare) r.adapter = {kLoraRank, 2.0 * kLoraRank, adapter_targets(question_.spec), base};
        else r.adapter.base = base;
      };
    };
    if (bare) add(fmt::format("LoRA of rank {}", kLoraRank), ChangeEffect::kTraining, lora(BaseStorage::kCompute));
    add(bare ? fmt::format("LoRA of rank {}, the model in 4 bits", kLoraRank) : "the frozen model in 4 bits",
        ChangeEffect::kTraining, lora(BaseStorage::kNf4));
  }

 private:
  const Question& question_;
  std::vector<Change>& changes_;
};

/// Adds the question under a changed setup of the same stack.
template <typename Edit>
void add_setup(const Question& question, std::vector<Change>& changes, std::string name, ChangeEffect effect, Edit edit) {
  Question changed = question;
  edit(*changed.stack);
  if (*changed.stack == *question.stack) return;
  changes.push_back({"software", std::move(name), effect, {}, std::move(changed)});
}

void add_recomputations(const Question& question, std::vector<Change>& changes) {
  for (const Recomputation rule : {Recomputation::kNone, Recomputation::kSelective, Recomputation::kFull}) {
    add_setup(question, changes, fmt::format("recompute {}", to_text(rule)), ChangeEffect::kTime,
              [&](StackSetup& setup) { setup.recomputation = rule; });
  }
}

void add_encodings(const Question& question, std::vector<Change>& changes) {
  const auto add = [&](std::string name, ChangeEffect effect, MapEncoding encoding) {
    add_setup(question, changes, std::move(name), effect, [&](StackSetup& setup) { setup.compression.encoding = encoding; });
  };
  add("feature maps wait lossless (Gist)", ChangeEffect::kTime, MapEncoding::kLossless);
  add("feature maps wait in fp8 (Gist)", ChangeEffect::kTraining, MapEncoding::kFp8);
}

void add_attentions(const Question& question, std::vector<Change>& changes) {
  for (const AttentionKernel kernel : {AttentionKernel::kEfficient, AttentionKernel::kFlash}) {
    add_setup(question, changes, fmt::format("{} attention", to_text(kernel)), ChangeEffect::kRounding,
              [&](StackSetup& setup) { setup.attention = kernel; });
  }
}

/// Kernels that stand in transformers' modules: head and loss tile by tile, alone and beside checkpoints, and Liger's.
void add_module_kernels(const Question& question, std::vector<Change>& changes) {
  const auto add = [&](std::string name, auto edit, auto check) {
    StackSetup changed = *question.stack;
    edit(changed);
    if (check(question.spec, changed)) add_setup(question, changes, std::move(name), ChangeEffect::kRounding, edit);
  };
  const auto fuse = [](StackSetup& setup) { setup.fused_head = true; };
  add("TRL's fused head", fuse, check_fused_head);
  if (question.stack->recomputation != Recomputation::kFull && !question.stack->fused_head) {
    add("recompute full, TRL's fused head", [](StackSetup& setup) { setup.fused_head = true, setup.recomputation = Recomputation::kFull; }, check_fused_head);
  }
  if (!question.stack->fused_head) add("Liger's kernels", [](StackSetup& setup) { setup.liger = true; }, check_liger);
}

}  // namespace

void add_training_changes(const Question& question, std::vector<Change>& changes) {
  TrainingChanges of(question, changes);
  of.batches();
  of.sequences();
  of.precisions();
  of.optimizers();
  of.adapters();
}

void add_software_changes(const Question& question, std::vector<Change>& changes) {
  if (!question.stack) {
    if (question.strategy == "auto" && !question.exact) return;
    Question free = question;
    free.strategy = "auto";
    free.exact.reset();
    changes.push_back({"software", "the plan that plimsoll finds", ChangeEffect::kTime, {}, std::move(free)});
    return;
  }
  if (!question.stack->preference.exists()) {
    Question own = question;
    own.stack.reset();
    changes.push_back({"software", "plimsoll's own plan", ChangeEffect::kRounding, {}, std::move(own)});
  }
  const bool convolves = question.spec.is_conv_net();
  convolves ? add_encodings(question, changes) : add_recomputations(question, changes);
  if (convolves) {
    add_setup(question, changes, "channels last", ChangeEffect::kRounding, [](StackSetup& setup) { setup.channels_last = true; });
  }
  add_setup(question, changes, "torch.compile", ChangeEffect::kRounding, [](StackSetup& setup) { setup.compile = true; });
  add_setup(question, changes, "a fused optimizer", ChangeEffect::kRounding,
            [](StackSetup& setup) { setup.loop = OptimizerLoop::kFused; });
  if (!convolves) add_attentions(question, changes);
  if (!convolves) add_module_kernels(question, changes);
}

std::vector<Change> list_changes(const Question& question) {
  std::vector<Change> changes;
  add_machine_changes(question, changes);
  add_gpu_changes(question, changes);
  add_training_changes(question, changes);
  add_software_changes(question, changes);
  return changes;
}

std::string_view to_text(ChangeEffect effect) {
  switch (effect) {
    case ChangeEffect::kTime: return "time only";
    case ChangeEffect::kRounding: return "rounding";
    case ChangeEffect::kTraining: return "the training";
  }
  return "";
}

}  // namespace plimsoll
