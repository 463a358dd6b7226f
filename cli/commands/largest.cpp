#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/options/fit_flags.h"
#include "cli/options/number_checks.h"
#include "cli/print/output_file.h"
#include "cli/print/print_fit.h"
#include "cli/print/print_training.h"
#include "cli/print/table_output.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "cli/program/keep_freed_memory.h"
#include "formats/models/resolve_model.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"
#include "formats/text/write_text_file.h"
#include "sim/answers/contenders.h"
#include "sim/answers/draw_chart.h"
#include "sim/answers/size_curve.h"

namespace plimsoll {
namespace {

/// Nothing larger is tried where --most is not said.
constexpr std::int64_t kMost = 4096, kMostTokens = 1 << 20;

constexpr const char* kUsualModel = "gpt:layers=1,hidden=2048,heads=16,vocab=50257,positions=1024";

struct LargestFlags {
  FitFlags asked;
  std::string what = "model";
  std::string family;
  std::vector<std::string> strategies;
  std::optional<std::int64_t> most;  ///< in the units that the answer has
  std::string svg;
  bool json = false;
  bool csv = false;
  std::string output;
};

/// What was found, with the words that all forms of the answer share.
struct LargestTable {
  Extent extent = Extent::kLayers;
  std::vector<std::string> models;  ///< that stand in a row; empty: one model grows
  std::string machine;
  std::string model;
  std::string unit;
  std::vector<ContenderEdge> edges;
  std::vector<std::string> left_out;

  /// "3008 tokens", "1 pair"
  [[nodiscard]] std::string amount(std::int64_t value) const {
    const std::int64_t count = in_units(extent, value);
    return fmt::format("{} {}", count, count == 1 ? unit.substr(0, unit.size() - 1) : unit);
  }
};

std::string value_text(const LargestTable& table, const ContenderEdge& edge) {
  if (edge.largest.value == 0) return "none";
  if (!table.models.empty()) return table.models.at(static_cast<std::size_t>(edge.largest.value - 1));
  const std::string value = table.amount(edge.largest.value);
  const bool grows = table.extent == Extent::kLayers || table.extent == Extent::kWidth;
  return grows ? fmt::format("{}B ({})", fmt::format("{:.2f} ", static_cast<double>(edge.largest.parameters) * 1e-9),
                             value)
               : value;
}

double chart_size(const LargestTable& table, const ContenderEdge& edge) {
  const bool grows = !table.models.empty() || table.extent == Extent::kLayers || table.extent == Extent::kWidth;
  return grows ? static_cast<double>(edge.largest.parameters) : static_cast<double>(in_units(table.extent, edge.largest.value));
}

std::string edge_text(const LargestTable& table, const ContenderEdge& edge) {
  const LargestFit& found = edge.largest;
  if (found.refused_below > 0) return fmt::format("not monotone: {} do not fit", table.amount(found.refused_below));
  if (!found.monotone) return "not monotone: larger ones fit and smaller do not";
  if (found.window > 0) return fmt::format("longer ones slide over a window of {} tokens, for which plimsoll's own step has no kernels", found.window);
  if (!found.beyond) return found.value > 0 ? "fits all that was tried (--most)" : "";
  const std::int64_t step = in_units(table.extent, 1);
  return fmt::format("{} more {} short of {}", step > 1 ? fmt::format("{} {}", step, table.unit) : "one", step > 1 ? "are" : "is",
                     to_text(found.beyond->short_of));
}

/// How far it fits by more than the answer may err, and what is beyond it.
std::string edge_words(const LargestTable& table, const ContenderEdge& edge) {
  const LargestFit& found = edge.largest;
  const std::string beyond = edge_text(table, edge);
  if (found.certain == found.value) return beyond;
  const std::string certain = found.certain > 0 ? fmt::format("certain up to {}", in_units(table.extent, found.certain)) : "nothing is certain";
  return beyond.empty() ? certain : certain + "; " + beyond;
}

std::string largest_text(const LargestTable& table) {
  std::string text = fmt::format("the largest of {} that fits on {}\n  {:<20}{:>28}  {:>10}  edge\n", table.model,
                                 table.machine, "strategy", "largest", "step");
  for (const ContenderEdge& edge : table.edges) {
    const double step = edge.largest.answer.step_seconds;
    text += fmt::format("  {:<20}{:>28}  {:>10}  {}\n", edge.name, value_text(table, edge),
                        step > 0 ? to_text(from_seconds(step)) : "", edge_words(table, edge));
  }
  for (const ContenderEdge& edge : table.edges) {
    if (edge.name.starts_with("as-said")) text += fmt::format("  {} is {}\n", edge.name, edge.words);
  }
  for (const std::string& reason : table.left_out) text += fmt::format("  left out: {}\n", reason);
  return text;
}

std::string edge_json(const LargestTable& table, const ContenderEdge& edge) {
  JsonLine line;
  line.text("strategy", edge.name).text("words", edge.words);
  if (table.models.empty()) {
    line.integer("largest", in_units(table.extent, edge.largest.value)).integer("largest_certain", in_units(table.extent, edge.largest.certain));
  } else {
    line.text("largest", value_text(table, edge));
  }
  line.integer("parameters", edge.largest.parameters).number("step_seconds", edge.largest.answer.step_seconds);
  line.number("samples_per_second", edge.largest.answer.samples_per_second).flag("monotone", edge.largest.monotone);
  return line.raw("beyond_short_bytes", edge.largest.beyond ? std::to_string(edge.largest.beyond->short_of.count) : "null").str();
}

std::string largest_json(const LargestTable& table) {
  std::vector<std::string> edges;
  for (const ContenderEdge& edge : table.edges) edges.push_back(edge_json(table, edge));
  return fmt::format(
      "{{\n\"format_version\": 1,\n\"machine\": {},\n\"model\": {},\n\"unit\": {},\n\"largest\": {},\n\"left_out\": "
      "{}\n}}\n",
      json_quote(table.machine), json_quote(table.model),
      json_quote(table.models.empty() ? table.unit : "model"), json_lines(edges, 0), json_list(json_texts(table.left_out)));
}

std::string largest_csv(const LargestTable& table) {
  const bool grows = table.models.empty();
  std::string text = fmt::format("strategy,largest_{},parameters,step_seconds,monotone,beyond_short_bytes\n",
                                 grows ? table.unit : "model");
  for (const ContenderEdge& edge : table.edges) {
    text += fmt::format("{},{},{},{},{},{}\n", csv_field(edge.name),
                        grows ? std::to_string(in_units(table.extent, edge.largest.value)) : csv_field(value_text(table, edge)),
                        edge.largest.parameters,
                        json_number(edge.largest.answer.step_seconds), edge.largest.monotone,
                        edge.largest.beyond ? std::to_string(edge.largest.beyond->short_of.count) : "");
  }
  return text;
}

Result<void> write_chart(const std::string& path, const LargestTable& table) {
  if (path.empty()) return {};
  if (auto sound = check_replaceable(path, FileKind::kSvg); !sound) return sound;
  std::vector<ChartBar> bars;
  for (const ContenderEdge& edge : table.edges) bars.push_back({edge.name, chart_size(table, edge), value_text(table, edge)});
  write_text_file(path, draw_bars(fmt::format("Largest that fits on {}", table.machine), bars));
  return {};
}

/// What grows by one must divide by what shares it.
Result<void> check_divides(const LargestFlags& flags, Extent extent) {
  const StackFlags& stack = flags.asked.stack;
  const bool cuts_layers = extent == Extent::kLayers && stack.stages > 1, cuts_width = extent == Extent::kWidth && stack.tensor_ranks > 1;
  if (cuts_layers || cuts_width) {
    return fail({.kind = ErrorKind::kInput,
                 .what = fmt::format("a model that grows {} does not divide by {}", cuts_layers ? "layer by layer" : "head by head", cuts_layers ? "--pp" : "--tp"),
                 .where = "--what", .remedy = fmt::format("let --what batch or sequence grow, or leave {} out", cuts_layers ? "--pp" : "--tp")});
  }
  const std::int64_t step = in_units(extent, 1);
  if (flags.most && *flags.most % step != 0) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("a sequence grows by {} tokens at a time, and {} is no multiple of it", step, *flags.most),
                 .where = "--most", .remedy = fmt::format("say {}", std::max<std::int64_t>(1, *flags.most / step) * step)});
  }
  return {};
}

Result<void> check_goes(const CLI::App& command, const LargestFlags& flags) {
  const auto extent = parse_extent(flags.what);
  const char* grows = !extent ? "" : *extent == Extent::kSequence ? "--seq" : *extent == Extent::kBatch ? "--batch" : "";
  if (*grows != '\0' && command.count(grows) > 0)
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("{} is what grows, and would be ignored", grows), .where = {}, .remedy = "leave it out, or say --most"});
  if (const auto divides = check_divides(flags, extent ? *extent : Extent::kBatch); !divides) return divides;
  if (flags.asked.strategy != "auto" && !flags.asked.stack.other()) {
    return fail({.kind = ErrorKind::kInput, .what = "strategies are listed in --strategies here", .where = "--strategy",
                 .remedy = "for example --strategies pytorch,zero-offload,plimsoll"});
  }
  if (flags.asked.training.global_batch && flags.asked.machine.gpus > 1) {
    return fail({.kind = ErrorKind::kInput, .what = "what is compared divides a step over several GPUs in different ways, and --global-batch does not say what each has", .where = "--global-batch",
                 .remedy = "say --batch and --accumulate of a GPU"});
  }
  return {};
}

std::vector<std::string> names_of(const LargestFlags& flags, const Question& question) {
  const bool said = flags.asked.stack.other();
  if (flags.strategies.empty()) return said ? contenders_as_said(question) : usual_contenders();
  if (flags.strategies != std::vector<std::string>{"all"}) return flags.strategies;
  std::vector<std::string> all = contender_names();
  if (!said) std::erase_if(all, [](const std::string& name) { return name.starts_with("as-said"); });
  return all;
}

/// Nothing larger is tried: what --most says, in steps of what grows.
std::int64_t most_of(const LargestFlags& flags, const LargestTable& table) {
  const std::int64_t step = in_units(table.extent, 1);
  const std::int64_t most = std::max<std::int64_t>(1, flags.most.value_or(step > 1 ? kMostTokens : kMost) / step);
  return table.models.empty() ? most : std::min(most, static_cast<std::int64_t>(table.models.size()));
}

/// How the question grows: by --what, or along a --family of the zoo, whose smallest the question is then asked about.
Result<Growth> read_growth(LargestFlags& flags, LargestTable& table) {
  const auto extent = parse_extent(flags.what);
  if (!extent) return fail(extent.error());
  table.extent = *extent;
  if (flags.family.empty()) return growth_of(*extent);
  auto names = published_ladder(flags.family);
  if (!names) return fail(names.error());
  if (flags.asked.model != kUsualModel || *extent != Extent::kLayers) {
    return fail({.kind = ErrorKind::kInput,
                 .what = "--family names the models itself",
                 .where = {},
                 .remedy = "leave MODEL and --what out"});
  }
  std::vector<ModelSpec> models;
  for (const std::string& name : *names) {
    const auto spec = resolve_model(name);
    if (!spec) return fail(spec.error());
    models.push_back(*spec);
  }
  flags.asked.model = names->front();
  table.models = std::move(*names);
  return growth_along(std::move(models));
}

/// What was assumed of what grows.
void forget_grown(Extent extent, AskedQuestion& asked) {
  if (extent != Extent::kBatch && extent != Extent::kSequence) return;
  const std::string step = step_text(asked.question.spec, asked.question.recipe);
  std::erase_if(asked.notes, [&](const std::string& note) {
    return note == step || (extent == Extent::kSequence && note.starts_with("sequence length "));
  });
}

/// Where the longest sequence has more positions than the model was made for.
void note_positions(const LargestTable& table, const ModelSpec& spec, std::vector<std::string>& notes) {
  if (table.extent != Extent::kSequence) return;
  const bool beyond = std::any_of(table.edges.begin(), table.edges.end(), [&](const ContenderEdge& edge) { return in_units(table.extent, edge.largest.value) > spec.max_positions; });
  if (beyond) notes.push_back(fmt::format("{} was made for {} positions, fewer than the longest of these: positions grow with the sequence here", spec.name, spec.max_positions));
}

Result<ExitCode> answer_largest(const CLI::App& command, LargestFlags flags) {
  if (const auto place = check_table_output(flags.output); !place) return fail(place.error());
  if (const auto goes = check_goes(command, flags); !goes) return fail(goes.error());
  LargestTable table;
  const auto growth = read_growth(flags, table);
  if (!growth) return fail(growth.error());
  auto asked = read_question(flags.asked);
  if (!asked) return fail(asked.error());
  table.unit = unit_of(table.extent);
  if (table.extent == Extent::kBatch && is_of_images(asked->question.spec)) table.unit = "images";
  if (table.extent == Extent::kBatch && sequences_a_sample(asked->question) > 1) table.unit = "pairs";
  table.machine = asked->machine;
  table.model = flags.family.empty() ? asked->question.spec.name : flags.family;
  const auto all = contenders(asked->question, names_of(flags, asked->question), table.left_out);
  if (!all) return fail(all.error());
  forget_grown(table.extent, *asked);
  WaitingLine waiting("looking for the largest");
  auto edges = largest_of(*all, *growth, {.most = most_of(flags, table), .of_each = {}}, table.left_out, [&](double share) { waiting.tell(share); });
  if (!edges) return fail(edges.error());
  if (edges->empty()) {
    return fail({.kind = ErrorKind::kInput, .what = fmt::format("nothing that is compared can train it so: {}", fmt::join(table.left_out, "; ")), .where = {},
                 .remedy = "name others with --strategies"});
  }
  table.edges = std::move(*edges);
  note_positions(table, asked->question.spec, asked->notes);
  if (const auto drawn = write_chart(flags.svg, table); !drawn) return fail(drawn.error());
  const std::string text =
      flags.json ? largest_json(table) : flags.csv ? largest_csv(table) : largest_text(table) + notes_text(asked->notes);
  if (const auto put = put_table(text, flags.output); !put) return fail(put.error());
  return ExitCode::kDone;
}

}  // namespace

void add_largest(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<LargestFlags>();
  flags->asked.model = kUsualModel;
  CLI::App* command = app.add_subcommand("largest", "The largest model, batch or sequence that fits, for each strategy");
  command->footer(
      "Example: plimsoll largest gpt:layers=1,hidden=4096,heads=32,vocab=50257,positions=1024 --on \"RTX 3090\" --ram "
      "320GiB\n"
      "Example: plimsoll largest gpt2-xl --on \"RTX 2060 6GB\" --ram 32GiB --what batch --strategies pytorch,plimsoll "
      "--svg chart.svg\n"
      "Example: plimsoll largest llama3-8b --on \"RTX 4090\" --what sequence --stack pytorch --modules unsloth --lora 16 --base-bits 4");
  command
      ->add_option("MODEL", flags->asked.model,
                   "what grows: its layers at its width (model), its width, or its batch or sequence")
      ->capture_default_str();
  command->add_option("--family", flags->family,
                      "the largest of a family's published models instead: gpt2, gpt3, llama2, qwen3, …");
  add_question_flags(*command, flags->asked);
  add_preference_flags(*command, flags->asked.stack);
  command->add_option("--what", flags->what, "model, width, batch or sequence")->capture_default_str();
  command
      ->add_option("--strategies", flags->strategies,
                   "comma-separated: pytorch, pytorch-recompute, deepspeed, megatron, plimsoll, a strategy's name, or all "
                   "(default: pytorch, pytorch-recompute, zero-offload, gemini, plimsoll); with --stack also as-said and "
                   "as-said-recompute (then the default, beside plimsoll)")
      ->delimiter(',');
  command->add_option("--most", flags->most, "nothing larger is tried (default: 4096, of tokens 1048576)")
      ->transform(tokens_with_unit())
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 24));
  command->add_option("--svg", flags->svg, "write the chart to this file");
  command->add_flag("--json", flags->json, "machine-readable answer");
  command->add_flag("--csv", flags->csv, "the table as CSV")->excludes("--json");
  add_table_output(*command, flags->output);
  command->callback([flags, command, &code] {
    keep_freed_memory();
    const auto ended = answer_largest(*command, *flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
