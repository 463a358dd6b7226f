#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/parallel_flags.h"
#include "cli/waiting_line.h"
#include "formats/published/write_rows.h"
#include "formats/text/json_text.h"
#include "sim/parallel/sweep_layouts.h"

namespace plimsoll {
namespace {

struct SweepFlags {
  std::string model;
  std::vector<std::string> vary;
  MachineFlags machine;
  TrainingFlags training;
  StackFlags stack;
  ParallelFlags parallel;
  bool json = false;
};

constexpr const char* kHeader =
    "dp,tp,pp,cp,ep,zero,sequence_parallel,schedule,chunks,micro_batch,global_batch,micro_batches,recompute,step_"
    "seconds,step_seconds_low,"
    "step_seconds_high,tokens_per_second,model_tflops_per_gpu,hardware_tflops_per_gpu,bubble_fraction,peak_bytes,"
    "usable_bytes,fits,limit,error";

std::string layout_fields(const ParallelLayout& l) {
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", l.data_ranks, l.tensor_ranks, l.stages, l.context_ranks,
                     l.expert_ranks, l.zero, l.sequence_parallel, l.schedule, l.chunks, l.micro_batch, l.global_batch,
                     l.micro_batches(), to_text(l.recomputation));
}

std::string csv_line(const SweptLayout& swept) {
  if (!swept.answer) return fmt::format("{},,,,,,,,,,,,{}\n", layout_fields(swept.layout), csv_field(swept.refusal));
  const ParallelAnswer& a = *swept.answer;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},\n", layout_fields(a.layout), json_number(a.step_seconds),
                     json_number(a.step_low), json_number(a.step_high), json_number(a.tokens_per_second),
                     json_number(a.model_tflops_per_gpu()), json_number(a.hardware_tflops_per_gpu()),
                     json_number(a.bubble_fraction), a.peak().count, a.usable.count, a.fits(), csv_field(a.limit));
}

std::string json_item(const SweptLayout& swept) {
  JsonLine line;
  line.text("layout", describe(swept.layout));
  if (!swept.answer) return line.text("error", swept.refusal).str();
  const ParallelAnswer& a = *swept.answer;
  line.number("step_seconds", a.step_seconds)
      .number("tokens_per_second", a.tokens_per_second)
      .number("bubble_fraction", a.bubble_fraction);
  return line.integer("peak_bytes", a.peak().count).flag("fits", a.fits()).text("limit", a.limit).str();
}

void print_json(const std::vector<SweptLayout>& swept) {
  std::vector<std::string> items;
  for (const SweptLayout& one : swept) items.push_back(json_item(one));
  fmt::print("{}\n", JsonLine().integer("format_version", 1).raw("layouts", json_lines(items, 2)).str());
}

Result<ExitCode> sweep(const CLI::App& command, const SweepFlags& flags) {
  auto asked = read_parallel(flags.model, flags.parallel, flags.stack, flags.machine, flags.training);
  if (!asked) return fail(asked.error());
  const auto request = read_layout(command, flags.parallel, flags.stack, flags.training);
  if (!request) return fail(request.error());
  std::vector<LayoutVariation> variations;
  for (const std::string& text : flags.vary) {
    auto variation = parse_variation(text);
    if (!variation) return fail(variation.error());
    variations.push_back(std::move(*variation));
  }
  std::optional<WaitingLine> waiting("timing layouts");
  const auto swept = sweep_layouts(asked->question, *request, variations);
  waiting.reset();
  if (!swept) return fail(swept.error());
  if (flags.json) {
    print_json(*swept);
    return ExitCode::kDone;
  }
  fmt::print("{}\n", kHeader);
  for (const SweptLayout& one : *swept) fmt::print("{}", csv_line(one));
  return ExitCode::kDone;
}

}  // namespace

void add_sweep(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<SweepFlags>();
  CLI::App* command = app.add_subcommand("sweep", "Layouts of a model on many devices, one a line, as CSV");
  command->footer(
      "Example: plimsoll sweep gpt3-175b --on \"A100 80GB\" --gpus 512 --global-batch 1536 --tp 8 --vary pp=8,16,32 "
      "--vary micro-batch=1..4\n"
      "Layouts that do not divide stand there with what they do not divide.");
  command->add_option("MODEL", flags->model, "as fit takes it")->required();
  command
      ->add_option(
          "--vary", flags->vary,
          "KEY=A,B,C or KEY=A..B; keys: dp tp pp cp ep zero chunks micro-batch global-batch schedule recompute "
          "sequence-parallel; may be repeated")
      ->required();
  add_layout_flags(*command, flags->machine, flags->stack);
  add_parallel_flags(*command, flags->parallel);
  add_shape_flags(*command, flags->training);
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->callback([flags, command, &code] {
    const auto ended = sweep(*command, *flags);
    code = ended ? *ended : report_error(ended.error());
  });
}

}  // namespace plimsoll
