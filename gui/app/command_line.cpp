#include "gui/app/command_line.h"

#include <QCommandLineParser>
#include <QSize>

#include <array>
#include <cstdio>
#include <cstdlib>

#include "gui/explore/choices.h"

namespace plimsoll::gui {
namespace {

struct Choice {
  const char* name;
  const char* help;
};

/// The options that fill the Explore page in; they mean what fit's mean.
constexpr std::array kChoices{
    Choice{"model", "zoo name, config.json, .safetensors, folder, or a shape in words"},
    Choice{"on", "GPU of the catalogue"},
    Choice{"ram", "host memory, 16GiB"},
    Choice{"ssd", "SSD capacity, 200GB"},
    Choice{"pcie", "generation x lanes, 3x16"},
    Choice{"os", "linux, wsl2 or windows"},
    Choice{"gpus", "GPUs of this kind"},
    Choice{"batch", "sequences in a micro-batch"},
    Choice{"accumulate", "micro-batches in a step"},
    Choice{"seq", "tokens in a sequence"},
    Choice{"precision", "fp32, tf32, fp16-mixed, bf16-mixed or bf16"},
    Choice{"optimizer", "adamw, sgd, …"},
    Choice{"lora", "rank of adapters beside a frozen model"},
    Choice{"base-bits", "of a frozen model: 4, 8 or 16"},
    Choice{"strategy", "auto or the name of a family"},
    Choice{"stack", "the program that trains: plimsoll, pytorch, deepspeed, colossalai, megatron, llm.c"},
    Choice{"modules", "whose layers another stack runs"},
    Choice{"recompute", "of another stack, or of a layout of several GPUs: none, selective, full"},
    Choice{"zero", "what GPUs share out: 1 states, 2 and gradients, 3 and parameters"},
    Choice{"workload", "of pytorch and deepspeed: dpo, kto, grpo"},
    Choice{"offload", "of another stack: optimizer:cpu, params:ssd, …"},
    Choice{"network", "between nodes: 25GB/s a GPU, 8x200Gb/s a node"},
    Choice{"tp", "GPUs that share each layer"},
    Choice{"pp", "stages of a pipeline"},
    Choice{"ep", "GPUs that share the experts"},
    Choice{"global-batch", "sequences of a step over all GPUs"},
    Choice{"tokens", "length of the training in tokens, 300B"},
};

Error bad(std::string what) {
  return {.kind = ErrorKind::kInput, .what = std::move(what), .where = {}, .remedy = "plimsoll-gui --help lists the options"};
}

void add_options(QCommandLineParser& parser) {
  for (const Choice& choice : kChoices) {
    parser.addOption({QString::fromLatin1(choice.name), QString::fromUtf8(choice.help), QStringLiteral("VALUE")});
  }
  parser.addOption({"page", "explore, timeline, compare, run or pipelines", "PAGE"});
  parser.addOption({"language", "en or zh", "LANGUAGE"});
  parser.addOption({"theme", "system, light or dark", "THEME"});
  parser.addOption({"screenshot", "write what the window shows as PNG or SVG and exit", "FILE"});
  parser.addOption(QCommandLineOption("start", "begin what the page's main button begins: on the run page, the run"));
  parser.addOption({"size", "of the window, 1440x900", "WIDTHxHEIGHT"});
  parser.addOption({"settings", "file in which settings are kept", "FILE"});
  parser.addPositionalArgument("FILES", "models, run files, plans and traces to open", "[FILES…]");
  parser.addHelpOption();
  parser.addVersionOption();
}

Result<QSize> read_size(const QString& text) {
  const QStringList parts = text.split('x');
  const QSize size = parts.size() == 2 ? QSize(parts[0].toInt(), parts[1].toInt()) : QSize();
  if (size.width() < 640 || size.height() < 400 || size.width() > 8192 || size.height() > 8192) {
    return fail(bad("--size '" + text.toStdString() + "' is not WIDTHxHEIGHT between 640x400 and 8192x8192"));
  }
  return size;
}

}  // namespace

Result<WindowOptions> read_command_line(const QStringList& arguments, const QString& version) {
  QCommandLineParser parser;
  parser.setApplicationDescription("Plimsoll: will this training fit, how fast, what limits it - and then run that very plan.\n"
                                   "Example: plimsoll-gui --model gpt2-xl --on \"RTX 2060 6GB\" --ram 16GiB --ssd 200GB");
  add_options(parser);
  if (!parser.parse(arguments)) return fail(bad(parser.errorText().toStdString()));
  if (parser.isSet("help")) parser.showHelp(0);
  if (parser.isSet("version")) {
    std::fputs(("plimsoll-gui " + version.toStdString() + "\n").c_str(), stdout);
    std::exit(0);
  }
  WindowOptions options{.files = parser.positionalArguments(), .page = parser.value("page"), .theme = parser.value("theme"),
                        
                        .screenshot = parser.value("screenshot"), .settings = parser.value("settings")};
  for (const Choice& choice : kChoices) {
    if (parser.isSet(choice.name)) options.choices.insert(choice.name, parser.value(choice.name));
  }
  if (const auto choices = with_options({}, options.choices); !choices) return fail(choices.error());
  if (parser.isSet("language")) {
    options.language = parse_language(parser.value("language"));
    if (!options.language) return fail(bad("--language is en or zh"));
  }
  if (!options.theme.isEmpty() && options.theme != "light" && options.theme != "dark" && options.theme != "system") {
    return fail(bad("--theme is system, light or dark"));
  }
  options.start = parser.isSet("start");
  if (parser.isSet("size")) {
    const auto size = read_size(parser.value("size"));
    if (!size) return fail(size.error());
    options.size = *size;
  }
  return options;
}

}  // namespace plimsoll::gui
