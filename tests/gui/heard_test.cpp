// Every sentence in the sources of what the window hears is said in Chinese: a new one without Chinese fails here.
#include <catch2/catch.hpp>

#include <QDirIterator>
#include <QFile>
#include <QFileInfo>
#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <vector>

#include "gui/language/language.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

/// Whose errors, notes and reasons the window shows, from its own process or from the program that it starts.
constexpr std::array kHeard{"core/base",          "core/graph/buildable.cpp", "core/model",      "core/parallel",
                            "core/platform",      "core/plan/durability.cpp", "core/schedule",   "core/trace/compare_traces.cpp",
                            "sim/answers/room_to_fit.cpp",
                            "sim/cost",           "sim/parallel",             "sim/planner",     "sim/schedule",
                            "sim/stack",          "formats/exporters",        "formats/machines", "formats/models",
                            "formats/plans",      "formats/runs",             "formats/schedules", "formats/text",
                            "formats/traces",     "formats/trainers",         "session"};

/// Commands that the window starts: what these refuse and remark, not their options' help.
constexpr std::array kAsked{"commands/export_program", "commands/fit_parallel", "commands/machines", "commands/plan",
                            "commands/run", "commands/run_request", "inputs/cuda_machine", "inputs/load_plan",
                            "inputs/own_drive", "inputs/probe_cache", "inputs/resume_source",
                            "inputs/target_machine", "inputs/this_machine", "inputs/trained_model",
                            "options/adapter_flags", "options/divide_gpus", "options/machine_flags", "options/other_stack",
                            "options/parallel_flags", "options/parse_rate", "options/run_flags",
                            "options/stack_choice", "options/stack_flags", "options/strategy_choice",
                            "options/training_flags", "print/progress_lines", "print/timeline_file"};

/// Beneath these, but of commands that the window never starts, of files that come with the program, or a proof's defects.
constexpr std::array kNotHeard{
    "core/model/parameters.cpp", "sim/cost/cost_key.cpp", "sim/cost/efficiency_rows.cpp", "sim/cost/regression_cost_model.cpp",
    "sim/cost/sample_file.cpp", "sim/cost/shape_fields.cpp", "sim/cost/stretched_cost_model.h", "sim/cost/table_cost_model.cpp",
    "sim/parallel/sweep_layouts.cpp", "sim/planner/chains/", "sim/planner/migrate_plan.cpp", "sim/planner/pack_arena.cpp",
    "sim/planner/packing/", "sim/planner/partition/", "sim/planner/ranks/", "sim/planner/safety_cost.cpp",
    "sim/planner/state_moves.cpp", "sim/planner/systems/", "sim/schedule/draw_svg.cpp", "sim/stack/nets/dit.cpp",
    "sim/stack/nets/evoformer.cpp", "sim/stack/nets/unet.cpp", "sim/stack/operators/",
    "formats/machines/constant_table.cpp", "formats/machines/gpu_catalogue.cpp",
    "formats/machines/machine_json.cpp", "formats/machines/machine_parts.cpp", "formats/machines/memory_overheads.cpp",
    "formats/machines/parts_platform.cpp", "formats/machines/stated_gpu.cpp", "formats/models/hf_folder.cpp",
    "formats/models/hf_weights.cpp", "formats/models/model_zoo.cpp", "formats/models/onnx", "formats/models/peft_config.cpp",
    "formats/models/safetensors_checksums.cpp", "formats/models/safetensors_writer.cpp", "formats/models/write_hf_config.cpp",
    "formats/plans/chain_json.cpp", "formats/plans/packing_csv.cpp", "formats/plans/pipedream_profile.cpp",
    "formats/plans/piper_profile.cpp", "formats/traces/chakra_protobuf.cpp", "formats/traces/operator_",
    "formats/traces/read_operators.cpp", "session/probe/"};

/// No sentences: names of tensors, segments, tracks and columns, and what a digest is made of.
constexpr std::array kNames{"X1 of block X2",
                            "X1 of micro-batch X2",
                            "X1 of rank X2",
                            "X1-bytes digest=X2",
                            "X1X2 more of X3",
                            "(anonymous namespace)",
                            "SQLite format 3",
                            "attention projection",
                            "backward block",
                            "class token",
                            "embedding backward",
                            "embedding norm",
                            "encoder output",
                            "encoder output backward",
                            "ffn activation",
                            "ffn in",
                            "final norm",
                            "forward block",
                            "gradient complete",
                            "gradient norm",
                            "gradient to host",
                            "graph node id",
                            "hand over",
                            "head and loss",
                            "head backward",
                            "loss scale",
                            "loss scale of the step",
                            "output bias",
                            "predicted migration",
                            "predicted program",
                            "recompute block",
                            "redo update",
                            "registers per thread",
                            "shared memory",
                            "sequences of",
                            "squared norm",
                            "Max address space",
                            "stream begins",
                            "token types",
                            "transform norm",
                            "update ahead",
                            "update in backward",
                            "wide weight",
                            "\ntied_gradient=sum of the head's + sum of the embedding's"};

/// A literal of a source file, adjacent pieces joined, and what stands beside it.
struct Literal {
  QString text;
  QChar before, after;  ///< the nearest signs that are no spaces
  QString statement;    ///< from its begin to the literal
};

/// Where a text, a sign or a comment that begins at `at` ends; `at` itself where none does.
qsizetype end_of_token(const QString& source, qsizetype at) {
  const auto to = [&](QLatin1String end) {
    const qsizetype found = source.indexOf(end, at + 2);
    return found < 0 ? source.size() : found + end.size();
  };
  if (source.mid(at, 2) == QLatin1String("//")) return to(QLatin1String("\n"));
  if (source.mid(at, 2) == QLatin1String("/*")) return to(QLatin1String("*/"));
  if (source.mid(at, 2) == QLatin1String("R\"")) {
    const QString mark = source.mid(at + 2, source.indexOf('(', at) - at - 2);
    const QString end = ")" + mark + "\"";
    return source.indexOf(end, at) + end.size();
  }
  const QChar sign = source[at];
  if (sign != '"' && (sign != '\'' || (at > 0 && source[at - 1].isLetterOrNumber()))) return at;
  qsizetype end = at + 1;
  while (end < source.size() && source[end] != sign) end += source[end] == '\\' ? 2 : 1;
  return end + 1;
}

QString unescaped(QString text) {
  return text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
}

std::vector<Literal> literals(const QString& source) {
  std::vector<Literal> found;
  qsizetype begun = 0;
  QChar last = ' ';
  for (qsizetype at = 0; at < source.size();) {
    const qsizetype end = end_of_token(source, at);
    const QChar sign = source[at];
    if (end > at && sign == '"') {
      const QString text = unescaped(source.mid(at + 1, end - at - 2));
      if (last == '"') found.back().text += text;
      else found.push_back({text, last, ' ', source.mid(begun, at - begun)});
      last = '"';
    } else if (end == at && !sign.isSpace()) {
      if (last == '"') found.back().after = sign;
      last = sign;
      if (sign == ';') begun = at + 1;
    } else if (end > at && (sign == 'R' || sign == '\'')) {
      last = ' ';
    }
    at = std::max(end, at + 1);
  }
  return found;
}

/// With names in place of what is filled in, and without what only joins it to others.
QString filled(const Literal& literal) {
  static const QRegularExpression field(R"(\{[^{}]*\})"), joint(R"(^[,;:]? |[ ]+$)");
  QString text = literal.text;
  text.replace("{{", "\1").replace("}}", "\2");
  for (int number = 1; field.match(text).hasMatch(); ++number) {
    const auto next = field.match(text);
    text.replace(next.capturedStart(), next.capturedLength(), QString("X%1").arg(number));
  }
  text.replace("\1", "{").replace("\2", "}");
  if (literal.after == '+') text += "X";
  if (literal.before == '+') text.prepend("X");
  return text.remove(QRegularExpression("^X(?=[,;:] )")).remove(joint);
}

bool is_english(QString text) {
  static const QRegularExpression command("plimsoll [a-z]+|nsys export|--[a-z-]+ [A-Za-z]+");
  static const QRegularExpression words("[a-z]{2,} [a-z]{2,}");
  return words.match(text.remove(command)).hasMatch();
}

/// A part of a sentence stands beside another one in it.
bool is_said(const Catalogue& catalogue, const QString& text) {
  for (const char* form : {"%1", "X %1", "'X' %1", "%1 X", "X %1 X", "%1'", "'%1"}) {
    const QString english = QString(form).arg(text);
    const QString chinese = catalogue.translate("engine", english.toUtf8().constData(), nullptr, -1);
    if (!chinese.isEmpty() && !is_english(chinese)) return true;
  }
  return false;
}

bool is_heard(const QString& path) {
  const auto begins = [&](const char* other) { return path.startsWith(QLatin1String(other)); };
  return std::none_of(kNotHeard.begin(), kNotHeard.end(), begins);
}

bool is_refusal(const Literal& literal) {
  static const QRegularExpression refusal(R"((fail|refuse\w*|bad\w*|cannot\w*)\(|notes|\.what)");
  return refusal.match(literal.statement).hasMatch();
}

/// Paths from the repository's root.
QStringList heard_files() {
  const QString root = QStringLiteral(PLIMSOLL_SOURCE_ROOT "/");
  QStringList files;
  for (const char* place : kHeard) {
    if (QFileInfo(root + place).isFile()) files << place;
    QDirIterator each(root + place, {"*.cpp", "*.h"}, QDir::Files, QDirIterator::Subdirectories);
    while (each.hasNext()) files << each.next().mid(root.size());
  }
  files.erase(std::remove_if(files.begin(), files.end(), [](const QString& path) { return !is_heard(path); }), files.end());
  return files;
}

std::vector<Literal> literals_of(const QString& path) {
  QFile file(QStringLiteral(PLIMSOLL_SOURCE_ROOT "/") + path);
  REQUIRE(file.open(QIODevice::ReadOnly));
  return literals(QString::fromUtf8(file.readAll()));
}

bool is_name(const QString& text) {
  return std::any_of(kNames.begin(), kNames.end(), [&](const char* name) { return text == QLatin1String(name); });
}

}  // namespace

TEST_CASE("a source's texts are found, what is filled in stands for itself, and comments are none") {
  const auto found = literals("say(\"a {} b\" /* \"c\" */ \"d\", 'x', \"e\\\"f {{}} \"); // \"g\"\n x = \"h \" + y;");
  REQUIRE(found.size() == 3);
  CHECK(filled(found[0]) == QString("a X1 bd"));
  CHECK(filled(found[1]) == QString("e\"f {}"));
  CHECK(filled(found[2]) == QString("h X"));
}

TEST_CASE("every sentence that the window can hear is said in Chinese") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  std::size_t sentences = 0;
  for (const QString& path : heard_files()) {
    for (const Literal& literal : literals_of(path)) {
      const QString text = filled(literal);
      if (!is_english(text) || is_name(text)) continue;
      ++sentences;
      INFO(path.toStdString() << ": " << text.toStdString());
      CHECK(is_said(catalogue, text));
    }
  }
  CHECK(sentences > 800);
}

TEST_CASE("what the commands that the window starts refuse is said in Chinese, too") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  std::size_t sentences = 0;
  for (const char* name : kAsked) {
    for (const Literal& literal : literals_of(QString("cli/%1.cpp").arg(name))) {
      const QString text = filled(literal);
      if (!is_refusal(literal) || !is_english(text) || is_name(text)) continue;
      ++sentences;
      INFO(name << ": " << text.toStdString());
      CHECK(is_said(catalogue, text));
    }
  }
  CHECK(sentences > 100);
}

TEST_CASE("a sentence that nobody translated is found") {
  Catalogue catalogue;
  REQUIRE(fill_chinese(catalogue));
  CHECK_FALSE(is_said(catalogue, "the moon is made of green cheese on the X1"));
  CHECK_FALSE(is_said(catalogue, "the moon has no room on the way back"));
}
