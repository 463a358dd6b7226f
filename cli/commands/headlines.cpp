#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/commands/headline_figure.h"
#include "cli/print/table_output.h"
#include "cli/print/waiting_line.h"
#include "cli/program/answer_error.h"
#include "cli/program/keep_freed_memory.h"
#include "core/base/nearest_names.h"
#include "formats/text/csv.h"
#include "formats/text/json_text.h"
#include "sim/planner/parallel_for.h"

namespace plimsoll {
namespace {

struct HeadlineFlags {
  std::vector<std::string> ids;
  bool markdown = false;
  bool json = false;
  bool csv = false;
  std::string output;
};

struct AnsweredHeadline {
  const Headline* headline = nullptr;
  std::optional<HeadlineAnswer> answer;  ///< nothing for what is not simulated
};

std::string command_text(const std::vector<std::string>& words) {
  std::string text = "plimsoll";
  for (const std::string& word : words) text += word.find(' ') == std::string::npos ? " " + word : fmt::format(" \"{}\"", word);
  return text;
}

std::string figure_text(double value, const std::string& unit) {
  const std::string number = value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  return unit.empty() ? number : number + " " + unit;
}

std::string ours_text(const AnsweredHeadline& one) {
  if (!one.answer) return "";
  if (one.headline->figure == "fits") return one.answer->fits ? "fits" : fmt::format("does not fit: {}", one.answer->short_of);
  const bool memory = one.headline->figure == "state_gb";  // which is asked of what does not fit, too
  return figure_text(one.answer->value, one.headline->unit) + (one.answer->fits || memory ? "" : " (does not fit)");
}

std::string published_text(const Headline& headline) {
  return headline.published ? figure_text(*headline.published, headline.unit) : std::string();
}

Result<std::vector<AnsweredHeadline>> answer_all(const std::vector<const Headline*>& chosen) {
  std::vector<std::optional<Result<HeadlineAnswer>>> answers(chosen.size());
  WaitingLine waiting("answering headlines");
  parallel_for(chosen.size(), [&](std::size_t i) {
    if (!chosen[i]->command.empty()) answers[i] = answer_headline(*chosen[i]);
  });
  std::vector<AnsweredHeadline> all;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (answers[i] && !*answers[i]) return fail(answers[i]->error());
    all.push_back({chosen[i], answers[i] ? std::optional(**answers[i]) : std::nullopt});
  }
  return all;
}

std::string command_cell(const Headline& headline) {
  if (headline.against.empty()) return fmt::format("`{}`", command_text(headline.command));
  return fmt::format("`{}` against `{}`", command_text(headline.command), command_text(headline.against));
}

std::string section_table(const std::vector<AnsweredHeadline>& all, const std::string& section) {
  const bool simulated = std::any_of(all.begin(), all.end(), [&](const AnsweredHeadline& one) {
    return one.headline->section == section && one.answer;
  });
  std::string text = simulated ? "| claim | source | published | ours | command | |\n|---|---|---|---|---|---|\n"
                               : "| claim | source | why not |\n|---|---|---|\n";
  for (const AnsweredHeadline& one : all) {
    const Headline& headline = *one.headline;
    if (headline.section != section) continue;
    if (!simulated) text += fmt::format("| {} | {} | {} |\n", headline.claim, headline.source, headline.note);
    else
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", headline.claim, headline.source,
                          published_text(headline), ours_text(one), command_cell(headline), headline.note);
  }
  return text;
}

std::string page_text(const std::vector<AnsweredHeadline>& all) {
  std::string text(headlines_page());
  for (std::size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", at)) {
    const std::size_t end = text.find("}}\n", at);
    const std::string table = section_table(all, text.substr(at + 2, end - at - 2));
    text.replace(at, end + 3 - at, table);
    at += table.size();
  }
  return text;
}

std::string plain_text(const std::vector<AnsweredHeadline>& all) {
  std::string text;
  for (const AnsweredHeadline& one : all) {
    const Headline& headline = *one.headline;
    text += fmt::format("{}: {} ({})\n", headline.id, headline.claim, headline.source);
    if (one.answer) {
      const std::string published = published_text(headline);
      text += fmt::format("  ours {}{}\n  {}\n", ours_text(one), published.empty() ? "" : ", published " + published,
                          command_text(headline.command));
    }
    if (!headline.against.empty()) text += fmt::format("  against {}\n", command_text(headline.against));
    if (!headline.note.empty()) text += fmt::format("  {}{}\n", one.answer ? "" : "not simulated: ", headline.note);
  }
  return text;
}

std::string headline_json(const AnsweredHeadline& one) {
  const Headline& headline = *one.headline;
  JsonLine line;
  line.text("id", headline.id).text("claim", headline.claim).text("source", headline.source);
  line.raw("published", headline.published ? json_number(*headline.published) : "null").text("unit", headline.unit);
  line.raw("ours", one.answer ? json_number(one.answer->value) : "null").text("figure", headline.figure);
  line.raw("fits", one.answer ? (one.answer->fits ? "true" : "false") : "null");
  line.raw("command", headline.command.empty() ? "null" : json_quote(command_text(headline.command)));
  line.raw("against", headline.against.empty() ? "null" : json_quote(command_text(headline.against)));
  return line.text("note", headline.note).str();
}

std::string table_csv(const std::vector<AnsweredHeadline>& all) {
  std::string text = "id,claim,source,published,unit,ours,figure,fits,command,against,note\n";
  for (const AnsweredHeadline& one : all) {
    const Headline& h = *one.headline;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", h.id, csv_field(h.claim), csv_field(h.source),
                        h.published ? json_number(*h.published) : "", csv_field(h.unit),
                        one.answer ? json_number(one.answer->value) : "", h.figure,
                        one.answer ? (one.answer->fits ? "true" : "false") : "",
                        csv_field(h.command.empty() ? std::string() : command_text(h.command)),
                        csv_field(h.against.empty() ? std::string() : command_text(h.against)), csv_field(h.note));
  }
  return text;
}

Result<std::vector<const Headline*>> choose(const HeadlineFlags& flags) {
  std::vector<const Headline*> chosen;
  std::vector<std::string> names;
  for (const Headline& headline : known_headlines()) {
    names.push_back(headline.id);
    if (flags.ids.empty() || std::find(flags.ids.begin(), flags.ids.end(), headline.id) != flags.ids.end())
      chosen.push_back(&headline);
  }
  for (const std::string& id : flags.ids) {
    if (std::find(names.begin(), names.end(), id) != names.end()) continue;
    return fail({.kind = ErrorKind::kUnknownName,
                 .what = fmt::format("no headline '{}'", id),
                 .where = {},
                 .remedy = did_you_mean(id, names)});
  }
  return chosen;
}

Result<ExitCode> answer_headlines(const HeadlineFlags& flags) {
  if (const auto place = check_table_output(flags.output); !place) return fail(place.error());
  const auto chosen = choose(flags);
  if (!chosen) return fail(chosen.error());
  const auto all = answer_all(*chosen);
  if (!all) return fail(all.error());
  std::string text;
  if (flags.json) {
    std::vector<std::string> items;
    for (const AnsweredHeadline& one : *all) items.push_back(headline_json(one));
    text = json_lines(items, 0) + "\n";
  } else {
    text = flags.csv ? table_csv(*all) : flags.markdown ? page_text(*all) : plain_text(*all);
  }
  if (const auto put = put_table(text, flags.output); !put) return fail(put.error());
  return ExitCode::kDone;
}

}  // namespace

void add_headlines(CLI::App& app, ExitCode& code) {
  auto flags = std::make_shared<HeadlineFlags>();
  CLI::App* command = app.add_subcommand("headlines", "What the field claims, beside what the simulator says");
  command->footer(
      "Example: plimsoll headlines years-gpt3 time-llama2\nExample: plimsoll headlines --markdown > docs/headlines.md");
  command->add_option("ID", flags->ids, "only these");
  CLI::Option* page = command->add_flag("--markdown", flags->markdown, "the page docs/headlines.md");
  command->add_flag("--json", flags->json, "machine-readable answer")->excludes(page);
  command->add_flag("--csv", flags->csv, "the table as CSV")->excludes(page)->excludes("--json");
  add_table_output(*command, flags->output);
  command->callback([flags, command, &code] {
    keep_freed_memory();
    const auto ended = answer_headlines(*flags);
    code = ended ? *ended : report_error(*command, ended.error());
  });
}

}  // namespace plimsoll
