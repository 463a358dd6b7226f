#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands.h"
#include "cli/options/size_option.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "executor/checkpoint/merge_adapter.h"
#include "formats/models/resolve_model.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

struct MergeFlags {
  std::string base;
  std::string adapter;
  std::string output;
  std::string precision = "fp32";
  std::string shards = "5GB";
  bool json = false;
};

tl::unexpected<Error> bad(std::string what, std::string where, std::string remedy) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = std::move(where), .remedy = std::move(remedy)});
}

Result<SaveOptions> save_options_of(const MergeFlags& flags, const std::filesystem::path& weights) {
  const auto limit = read_size("--save-shards", flags.shards);
  if (!limit) return fail(limit.error());
  if (*limit <= Bytes(0)) return bad("--save-shards must be positive", {}, {});
  if (flags.precision != "fp32" && flags.precision != "bf16") return bad("--save-precision is fp32 or bf16", {}, {});
  return SaveOptions{.type = flags.precision == "bf16" ? StoredType::kBf16 : StoredType::kF32,
                     .shard_limit = *limit,
                     .origin = weights.parent_path()};
}

std::string answer_json(const MergeFlags& flags, const ModelSpec& spec) {
  JsonLine answer;
  answer.integer("format_version", 1).text("model", spec.name).text("file", flags.output).text("precision", flags.precision);
  return answer.str();
}

Result<ExitCode> merge(const MergeFlags& flags) {
  const auto model = describe_model(flags.base);
  if (!model) return fail(model.error());
  if (model->weights.empty()) {
    return bad("there are no weights to add adapters to", flags.base, "name a folder with config.json and safetensors");
  }
  const auto options = save_options_of(flags, model->weights);
  if (!options) return fail(options.error());
  if (const auto usable = check_save(flags.output, model->spec); !usable) return fail(usable.error());
  const WaitingLine waiting("adding the adapters to the weights");
  const auto merged = merge_adapter(model->weights, model->spec, flags.adapter, flags.output, *options);
  if (!merged) return fail(merged.error());
  fmt::print(stderr, "plimsoll: wrote {}\n", flags.output);
  if (flags.json) fmt::print("{}\n", answer_json(flags, model->spec));
  return ExitCode::kDone;
}

}  // namespace

void add_merge(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<MergeFlags>();
  CLI::App* command = app.add_subcommand("merge", "Add trained adapters to the weights of their model");
  command->footer("Example: plimsoll merge llama-3.2-1b tuned-adapter -o llama-tuned");
  command->add_option("BASE", flags->base, "folder of the model that was frozen")->required();
  command->add_option("ADAPTER", flags->adapter, "folder of the adapters, of run --lora --save or of PEFT")->required();
  command->add_option("-o,--output", flags->output, "a new folder for from_pretrained, or FILE.safetensors")->required();
  command->add_option("--save-precision", flags->precision, "fp32 or bf16")->capture_default_str();
  command->add_option("--save-shards", flags->shards, "largest file of the folder")->capture_default_str();
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = merge(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
