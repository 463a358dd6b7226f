#pragma once

#include <optional>
#include <string>

#include "formats/trainers/file_keys.h"
#include "formats/trainers/training_file.h"

namespace plimsoll {

/// The model, by the key that names it, as transformers' modules under PyTorch.
void take_transformers(TrainingFile& file, FileKeys& keys, std::string_view key);

/// Low-rank adapters as a training file states them.
struct StatedAdapter {
  std::int64_t rank = 8;
  std::string targets;  ///< names of matrices with commas; empty: every one of the blocks
  std::optional<double> alpha;
  double dropout = 0;
  std::string also;     ///< modules that are trained beside them, with commas between (PEFT's modules_to_save)
};

void say_adapter(TrainingFile& file, const StatedAdapter& adapter);

/// How FSDP shards, from the keys below fsdp_config ("fsdp_offload_params", and without their beginning as FSDP2's are written).
void take_fsdp(TrainingFile& file, FileKeys keys);

/// Sequences that are filled with several samples, where attention ends with each.
void note_packing(TrainingFile& file);

/// A DeepSpeed configuration by its file.
void say_deepspeed(TrainingFile& file, const std::string& path);

/// attn_implementation, and what axolotl and LLaMA-Factory call such: nothing for PyTorch's own choice.
void say_attention(TrainingFile& file, const std::string& name);

/// What transformers' TrainingArguments say, which LLaMA-Factory and TRL take over: batch, accumulation, precision, optimizer,
/// clipping, compilation, FSDP, DeepSpeed. Passes over those of logging, saving, evaluation and data.
void take_training_arguments(TrainingFile& file, FileKeys& keys);

}  // namespace plimsoll
