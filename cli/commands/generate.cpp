#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/inputs/text_codec.h"
#include "cli/inputs/trained_model.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "cli/program/stop_signals.h"
#include "executor/generation/sampling.h"
#include "formats/text/complete_utf8.h"
#include "formats/text/json_text.h"
#include "profiler/probe/this_computer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kUsualTokens = 128;
const std::string kInterrupted = "interrupted";

struct GenerateFlags {
  std::string model;
  std::string prompt;
  std::string prompt_tokens;
  std::string tokenizer;
  std::int64_t new_tokens = kUsualTokens;
  std::int64_t threads = 0;
  bool greedy = false;
  bool ignore_end = false;
  bool json = false;
  SamplingOptions sampling;
};

/// What was written, and why it ends.
struct Generated {
  std::size_t prompt = 0;  ///< leading tokens that the user gave
  std::vector<std::int32_t> tokens;
  std::string reason = "length";
  double seconds = 0;  ///< from the end of the prompt on

  [[nodiscard]] std::span<const std::int32_t> written() const { return std::span(tokens).subspan(prompt); }
  [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(written().size()) / seconds : 0; }
};

/// What follows the prompt. A tokenizer may write a token otherwise at a text's beginning, so the whole is decoded.
std::string written_text(const Generated& text, const TextCodec& codec) {
  const std::string prompt = codec.decode(std::span(text.tokens).first(text.prompt));
  const std::string whole = codec.decode(text.tokens);
  return whole.substr(std::min(prompt.size(), whole.size()));
}

/// Prints text as it grows; a character that is not complete yet, or stands for one (U+FFFD), waits.
class GrowingText {
 public:
  void show(const std::string& text) {
    if (text.ends_with("\xef\xbf\xbd")) return;
    const std::size_t complete = complete_utf8(text);
    if (complete <= shown_) return;
    fmt::print("{}", std::string_view(text).substr(shown_, complete - shown_));
    std::fflush(stdout);
    shown_ = complete;
  }

 private:
  std::size_t shown_ = 0;
};

Result<std::vector<std::int32_t>> read_prompt(const GenerateFlags& flags, const TextCodec& codec, const ModelSpec& spec) {
  const auto tokens = codec.encode(flags.prompt_tokens.empty() ? flags.prompt : flags.prompt_tokens);
  if (!tokens) return tokens;
  Error problem{.kind = ErrorKind::kInput, .what = {}, .where = {}, .remedy = {}};
  if (tokens->empty()) {
    problem.what = "the prompt has no tokens";
    problem.remedy = "say how the text begins with --prompt TEXT";
  }
  for (const std::int32_t token : *tokens) {
    if (token >= spec.vocabulary) problem.what = fmt::format("token {} is not one of the model's {}", token, spec.vocabulary);
  }
  return problem.what.empty() ? tokens : fail(problem);
}

Result<std::unique_ptr<Decoder>> load(const GenerateFlags& flags, const TrainedModel& model, std::int64_t longest) {
  const std::int64_t cores = probe_this_computer().physical_cores;
  const WaitingLine waiting("reading " + model.weights);
  return Decoder::create(model.spec, {.threads = flags.threads > 0 ? flags.threads : cores, .longest = longest}, model.load);
}

void write_on(Decoder& decoder, const GenerateFlags& flags, const TextCodec& codec, Generated& text, GrowingText* shown) {
  const std::atomic<bool>& stop = stop_on_signals();
  std::span<const float> logits = decoder.read(text.tokens);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < flags.new_tokens; ++i) {
    const std::int32_t token = sample(logits, text.tokens, flags.sampling);
    if (!flags.ignore_end && codec.ends.contains(token)) {
      text.reason = "end of text";
      break;
    }
    text.tokens.push_back(token);
    if (shown != nullptr) shown->show(written_text(text, codec));
    if (stop) text.reason = kInterrupted;
    if (stop || i + 1 == flags.new_tokens) break;
    logits = decoder.read(std::span(text.tokens).last(1));
  }
  text.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print_json(const Generated& text, const TextCodec& codec) {
  std::vector<std::string> numbers;
  for (const std::int32_t token : text.written()) numbers.push_back(std::to_string(token));
  JsonLine line;
  line.integer("format_version", 1).integer("prompt_tokens", static_cast<std::int64_t>(text.prompt));
  line.raw("tokens", json_list(numbers)).text("text", written_text(text, codec)).text("ended_by", text.reason);
  fmt::print("{}\n", line.number("tokens_per_second", text.rate()).str());
}

/// What nobody asked for ends where the model's positions do.
std::int64_t fitting_tokens(const GenerateFlags& flags, const ModelSpec& spec, std::size_t prompt) {
  const std::int64_t room = spec.longest_sequence() - static_cast<std::int64_t>(prompt) + 1;
  return flags.new_tokens == kUsualTokens ? std::clamp<std::int64_t>(room, 1, kUsualTokens) : flags.new_tokens;
}

Result<Generated> generate(GenerateFlags flags, const TextCodec& codec, const TrainedModel& model) {
  const auto prompt = read_prompt(flags, codec, model.spec);
  if (!prompt) return fail(prompt.error());
  Generated text{.prompt = prompt->size(), .tokens = *prompt};
  flags.new_tokens = fitting_tokens(flags, model.spec, text.prompt);
  auto decoder = load(flags, model, static_cast<std::int64_t>(text.prompt) + flags.new_tokens - 1);
  if (!decoder) return fail(decoder.error());
  GrowingText shown;
  if (!flags.json && flags.prompt_tokens.empty()) fmt::print("{}", flags.prompt);
  write_on(**decoder, flags, codec, text, flags.json ? nullptr : &shown);
  return text;
}

Result<ExitCode> run(GenerateFlags flags) {
  if (flags.greedy) flags.sampling.temperature = 0;
  if (auto possible = validate(flags.sampling); !possible) return fail(possible.error());
  if (flags.new_tokens < 1) {
    return fail({.kind = ErrorKind::kInput, .what = "--max-new-tokens must be positive", .where = {}, .remedy = {}});
  }
  const auto model = find_trained_model(flags.model);
  if (!model) return fail(model.error());
  const auto codec = flags.prompt_tokens.empty() ? find_text_codec(model->spec, model->folder, flags.tokenizer)
                                                 : Result<TextCodec>(number_codec());
  if (!codec) return fail(codec.error());
  const auto text = generate(flags, *codec, *model);
  if (!text) return fail(text.error());
  if (flags.json) {
    print_json(*text, *codec);
  } else {
    fmt::print("\n");
    std::fflush(stdout);  // the text ends before what is said of it begins
    const std::string rate = text->rate() < 100 ? fmt::format("{:.3g}", text->rate()) : fmt::format("{:.0f}", text->rate());
    fmt::print(stderr, "{} tokens, {} tokens/s, ended by: {}\n", text->written().size(), rate, text->reason);
  }
  return text->reason == kInterrupted ? ExitCode::kInterrupted : ExitCode::kDone;
}

void add_options(CLI::App& command, GenerateFlags& flags) {
  command.add_option("model", flags.model, "folder or safetensors file of a model, or a run file")->required()->option_text("MODEL");
  auto* prompt = command.add_option("--prompt,-p", flags.prompt, "how the text begins");
  command.add_option("--prompt-tokens", flags.prompt_tokens, "the same as token numbers, e.g. 464,3290,318")->excludes(prompt);
  command.add_option("--tokenizer", flags.tokenizer, "tokenizer.json; default: the one in the model's folder");
  command.add_option("--max-new-tokens,-n", flags.new_tokens, "most tokens to write; the default ends where the model's positions do")
      ->capture_default_str();
  command.add_option("--temperature", flags.sampling.temperature, "0: always the most probable token")->capture_default_str();
  command.add_option("--top-k", flags.sampling.top_k, "only the k most probable tokens; 0: all")->capture_default_str();
  command.add_option("--top-p", flags.sampling.top_p, "of those the fewest that reach this probability")->capture_default_str();
  command.add_option("--repetition-penalty", flags.sampling.repetition_penalty, "above 1: what occurred becomes less probable")
      ->capture_default_str();
  command.add_option("--seed", flags.sampling.seed, "of the random choices")->capture_default_str();
  command.add_option("--threads", flags.threads, "CPU workers; default: the physical cores");
  command.add_flag("--greedy", flags.greedy, "the same as --temperature 0");
  command.add_flag("--ignore-end", flags.ignore_end, "write on when the model ends its text");
  command.add_flag("--json", flags.json, "machine-readable answer");
}

}  // namespace

void add_generate(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app.add_subcommand("generate", "Let a trained model write on: see what it learned");
  command->footer("Example: plimsoll generate run.plimsoll --prompt \"We the People\" --max-new-tokens 200\n"
                  "         plimsoll generate my-model --prompt \"Once upon a time\" --temperature 0.7 --seed 3");
  add_options(*command, *flags);
  command->callback([flags, command, &code] {
    const auto ended = run(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
