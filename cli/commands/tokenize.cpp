#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/print/output_file.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "cli/program/stop_signals.h"
#include "formats/chat/template_file.h"
#include "formats/corpus/tokenize_files.h"
#include "formats/text/json_text.h"

namespace plimsoll {
namespace {

struct TokenizeFlags {
  std::vector<std::string> files;
  std::string tokenizer;
  std::string output;
  std::string field = "text";
  std::string format = "auto";
  std::string train_on = "assistant";
  std::string end;
  std::string chat_template;
  std::int64_t pack = 0;
  bool skip_bad = false;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

tl::unexpected<Error> bad(std::string what, std::string remedy = {}) {
  return fail({.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = std::move(remedy)});
}

/// The token that stands behind a text: as it was named, as the model's files say, or one that is known to mean that.
Result<TokenId> end_token(const TokenizeFlags& flags, const Tokenizer& tokenizer, const ChatTokens& tokens) {
  std::vector<std::string> names{"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"};
  if (const auto given = tokens.find("eos_token"); given != tokens.end()) names = {given->second};
  if (!flags.end.empty()) names = {flags.end};
  for (const std::string& name : names) {
    if (const auto id = tokenizer.id_of(name)) return *id;
  }
  if (!flags.end.empty()) return bad(fmt::format("the tokenizer has no token {}", json_quote(flags.end)));
  return bad("the tokenizer does not tell which token ends a text", "name it with --end TOKEN");
}

std::filesystem::path folder_of(const std::string& tokenizer) {
  return std::filesystem::is_directory(tokenizer) ? std::filesystem::path(tokenizer)
                                                  : std::filesystem::path(tokenizer).parent_path();
}

/// What stands beside the tokenizer, with the template that was named instead.
Result<TokenizerConfig> find_config(const TokenizeFlags& flags) {
  auto config = read_tokenizer_config(folder_of(flags.tokenizer));
  if (!config || flags.chat_template.empty()) return config;
  auto chat = read_chat_template(flags.chat_template);
  if (!chat) return fail(chat.error());
  config->chat.emplace(std::move(*chat));
  return config;
}

Result<void> check_output(const TokenizeFlags& flags) {
  if (const auto place = check_place(flags.output); !place) return place;
  if (flags.force || !std::filesystem::exists(flags.output)) return {};
  return bad(fmt::format("{} exists already", flags.output), "choose another -o, or add --force to replace it");
}

Result<TokenizeReport> tokenize(const TokenizeFlags& flags, const Tokenizer& tokenizer, const TokenizerConfig& config) {
  const auto end = end_token(flags, tokenizer, config.tokens);
  if (!end) return fail(end.error());
  TokenizeRequest request{.files = {flags.files.begin(), flags.files.end()},
                          .output = flags.output,
                          .kind = flags.format == "auto"   ? CorpusKind::kByName
                                  : flags.format == "text" ? CorpusKind::kText
                                                           : CorpusKind::kLines,
                          .rules = {.field = flags.field,
                                    .answers_only = flags.train_on == "assistant",
                                    .end = *end,
                                    .chat = config.chat ? &*config.chat : nullptr,
                                    .names = config.tokens,
                                    .now = std::time(nullptr)},
                          .sequence = flags.pack,
                          .skip_bad = flags.skip_bad,
                          .on_progress = {},
                          .stop = &stop_on_signals()};
  std::optional<WaitingLine> waiting;
  if (!flags.quiet) {
    waiting.emplace("tokenizing");
    request.on_progress = [&](double share) { waiting->tell(share); };
  }
  auto report = tokenize_files(tokenizer, request);
  if (!report && report.error().where.find(':') != std::string::npos && report.error().remedy.empty()) {
    report.error().remedy = "mend the line, or leave such lines out with --skip-bad";
  }
  return report;
}

void print_json(const TokenizeFlags& flags, const TokenizeReport& report, double seconds) {
  JsonLine line;
  line.integer("format_version", 1).text("file", flags.output).integer("tokens", report.note.tokens);
  line.integer("counted_tokens", report.note.counted).integer("bytes_per_token", report.note.width);
  line.integer("vocabulary", report.note.vocabulary).integer("documents", report.documents);
  line.integer("empty_documents", report.empty).integer("bad_lines", report.bad);
  line.integer("unanswered_documents", report.unanswered).integer("sequence", flags.pack);
  line.integer("rows", report.note.row > 0 ? report.note.tokens / report.note.row : 0);
  line.integer("padding_tokens", report.padding).integer("cut_documents", report.cut).integer("bytes_read", report.read.count);
  line.number("seconds", seconds);
  fmt::print("{}\n", line.text("tokenizer", report.note.tokenizer).str());
}

void print_words(const TokenizeFlags& flags, const TokenizeReport& report) {
  const TokenFileNote& note = report.note;
  fmt::print("{}: {} tokens of {} documents, {} bytes each\n", flags.output, note.tokens, report.documents, note.width);
  if (note.masked) {
    fmt::print("  counted    {} tokens ({:.1f} %)\n", note.counted,
               100.0 * static_cast<double>(note.counted) / static_cast<double>(note.tokens));
  }
  if (note.row > 0) {
    fmt::print("  packed     {} rows for --seq {}, {:.1f} % padding; {} documents were longer and cut\n", note.tokens / note.row,
               note.row - 1, 100.0 * static_cast<double>(report.padding) / static_cast<double>(note.tokens), report.cut);
  }
  if (report.unanswered > 0) fmt::print("  unanswered {} documents have no token that counts\n", report.unanswered);
  if (report.empty > 0) fmt::print("  empty      {} documents were left out\n", report.empty);
  if (report.bad > 0) fmt::print("  bad        {} lines were left out; the first: {}\n", report.bad, report.first_bad->text());
}

Result<ExitCode> run(const TokenizeFlags& flags) {
  if (flags.pack < 0 || flags.pack == 1) return bad("--pack takes a sequence of at least 2 tokens");
  if (const auto usable = check_output(flags); !usable) return fail(usable.error());
  const auto tokenizer = Tokenizer::load(flags.tokenizer);
  if (!tokenizer) return fail(tokenizer.error());
  const auto config = find_config(flags);
  if (!config) return fail(config.error());
  const auto begin = std::chrono::steady_clock::now();
  const auto report = tokenize(flags, *tokenizer, *config);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!report) return fail(report.error());
  flags.json ? print_json(flags, *report, seconds) : print_words(flags, *report);
  return ExitCode::kDone;
}

void add_options(CLI::App& command, TokenizeFlags& flags) {
  command.add_option("FILES", flags.files, "texts, or JSONL (.jsonl, .ndjson)")->required();
  command.add_option("--tokenizer", flags.tokenizer, "tokenizer.json, or the folder of a model")->required();
  command.add_option("-o,--output", flags.output, "the token file, for run --data")->required();
  command.add_option("--format", flags.format, "auto (by the file's name), text or jsonl")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "text", "jsonl"}));
  command.add_option("--field", flags.field, "key of a line's text")->capture_default_str();
  command.add_option("--train-on", flags.train_on, "of chats and prompts: assistant (answers only) or all")
      ->capture_default_str()
      ->check(CLI::IsMember({"assistant", "all"}));
  command.add_option("--template", flags.chat_template, "chat template (default: the one beside the tokenizer)");
  command.add_option("--pack", flags.pack, "pack documents into rows for --seq N (default: one continuous stream)");
  command.add_option("--end", flags.end, "token behind every text (default: the tokenizer's eos_token)");
  command.add_flag("--skip-bad", flags.skip_bad, "count lines that cannot be used, and leave them out");
  command.add_flag("--force", flags.force, "replace an existing file");
  command.add_flag("-q,--quiet", flags.quiet, "no progress");
  command.add_flag("--json", flags.json, "machine-readable answer");
}

}  // namespace

void add_tokenize(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<TokenizeFlags>();
  CLI::App* command = app.add_subcommand("tokenize", "Turn texts, JSONL and chats into tokens to train on");
  command->footer(
      "A line of JSONL holds \"text\" (see --field), \"messages\" (a chat), or \"prompt\" and \"completion\".\n"
      "Example: plimsoll tokenize --tokenizer my-model chats.jsonl --pack 1024 -o chats.bin\n"
      "         plimsoll run my-model --init my-model --data chats.bin --seq 1024 --save tuned");
  add_options(*command, *flags);
  command->callback([flags, command, &code] {
    const auto ended = run(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
