#include "formats/trainers/training_file.h"

#include <fmt/format.h>

#include "formats/text/parse_yaml.h"
#include "formats/trainers/trainers.h"

namespace plimsoll {
namespace {

struct Trainer {
  const char* name;
  bool (*reads)(const FileKeys&);
  void (*take)(TrainingFile&, FileKeys&);
};

/// TRL's last: the others have its keys, too.
constexpr Trainer kTrainers[] = {{"torchtune", is_of_torchtune, take_torchtune},
                                 {"accelerate", is_of_accelerate, take_accelerate},
                                 {"axolotl", is_of_axolotl, take_axolotl},
                                 {"LLaMA-Factory", is_of_llama_factory, take_llama_factory},
                                 {"TRL", is_of_trl, take_trl}};

Error unknown_file(const std::string& where) {
  return {.kind = ErrorKind::kInput,
          .what = "this is no training file that is known",
          .where = where,
          .remedy = "known are those of LLaMA-Factory (model_name_or_path, stage), axolotl (base_model), torchtune (model/_component_), TRL and "
                    "transformers (model_name_or_path, per_device_train_batch_size), and accelerate's launch files (distributed_type)"};
}

/// Adapters beside a base of two bytes, and whole models of two bytes, run in an autocast region where precision is mixed.
std::string autocast_precision(TrainingFile& file) {
  const auto stack = file.options.find("--stack");
  const bool sharded = file.options.contains("--zero") || (stack != file.options.end() && stack->second == "deepspeed");
  const bool encoded = file.options.contains("--base-bits");
  if (!file.products || *file.products == "no") {
    const std::string kept = file.weights.value_or("fp32");
    return kept == "fp32" && file.tf32 ? "tf32" : kept == "fp16" ? "fp16-mixed" : kept;
  }
  if (*file.products == "bf16" && file.weights == "bf16" && !encoded && !sharded) {
    file.say("--autocast", "yes");
    return "bf16";
  }
  return *file.products + "-mixed";
}

}  // namespace

void TrainingFile::offload(const std::string& item) {
  std::string& items = options["--offload"];
  if (items.find(item) == std::string::npos) items += (items.empty() ? "" : ",") + item;
}

Result<TrainingFile> read_training_file(std::string_view text, const std::string& where) {
  const auto document = parse_yaml(text, where);
  if (!document) return fail(document.error());
  if (!document->is_object()) return fail(unknown_file(where));
  JsonFault fault{.where = where, .error = {}};
  FileKeys keys(*document, "", fault);
  for (const Trainer& trainer : kTrainers) {
    if (!trainer.reads(keys)) continue;
    TrainingFile file{.program = trainer.name, .model = {}, .options = {}, .weights = {}, .products = {}, .unread = {}, .notes = {}};
    trainer.take(file, keys);
    if (fault.error) return fail(*fault.error);
    for (std::string& key : keys.left()) file.unread.push_back(std::move(key));
    return file;
  }
  return fail(unknown_file(where));
}

TrainingFile joined(TrainingFile first, const TrainingFile& second) {
  if (!second.model.empty()) first.model = second.model;
  for (const auto& [option, value] : second.options) {
    const bool runs_under_first = option == "--stack" && value == "pytorch" && first.options.contains(option);
    if (!runs_under_first) first.options[option] = value;  // a trainer's own file runs under what launches it
  }
  if (second.weights) first.weights = second.weights;
  if (second.products) first.products = second.products;
  first.tf32 = first.tf32 || second.tf32;
  first.program += " and " + second.program;
  first.unread.insert(first.unread.end(), second.unread.begin(), second.unread.end());
  first.notes.insert(first.notes.end(), second.notes.begin(), second.notes.end());
  return first;
}

void settle(TrainingFile& file) {
  const bool shared = file.options.contains("--zero") || file.options.contains("--strategy");
  if (shared && file.options.erase("--paged-states") > 0) {
    file.notes.emplace_back("a paged optimizer is told without paging where its states are shared out");
  }
  const auto optimizer = file.options.find("--optimizer");
  const bool eight = optimizer != file.options.end() && optimizer->second == "adam8bit";
  const bool adapters = file.options.contains("--lora") || file.options.contains("--peft");
  if (eight && !adapters && !shared && file.program.find("torchtune") == std::string::npos) file.say("--wide-embedding-states");
  const bool said = file.weights || file.products || file.tf32;
  if (said && !file.options.contains("--precision")) file.say("--precision", autocast_precision(file));
}

}  // namespace plimsoll
