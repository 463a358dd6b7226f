#pragma once

#include "formats/trainers/file_keys.h"
#include "formats/trainers/training_file.h"

namespace plimsoll {

/// One reader a program. `is_of_…` tells its files by keys that no other program has; `take_…` says what they say.
bool is_of_torchtune(const FileKeys& keys);
void take_torchtune(TrainingFile& file, FileKeys& keys);

bool is_of_accelerate(const FileKeys& keys);
void take_accelerate(TrainingFile& file, FileKeys& keys);

bool is_of_axolotl(const FileKeys& keys);
void take_axolotl(TrainingFile& file, FileKeys& keys);

bool is_of_llama_factory(const FileKeys& keys);
void take_llama_factory(TrainingFile& file, FileKeys& keys);

/// TRL's, and those of scripts that read transformers' TrainingArguments.
bool is_of_trl(const FileKeys& keys);
void take_trl(TrainingFile& file, FileKeys& keys);

}  // namespace plimsoll
