#include <fmt/format.h>

#include <memory>

#include "cli/program/command_table.h"
#include "cli/program/completion_scripts.h"
#include "cli/program/documents.h"
#include "cli/program/manual_page.h"
#include "formats/machines/gpu_catalogue.h"
#include "formats/models/model_zoo.h"

namespace plimsoll {
namespace {

CompletionNames known_names() {
  CompletionNames names;
  for (const ZooModel& model : built_in_zoo()) names.models.push_back(model.name);
  for (const GpuEntry& gpu : built_in_gpu_catalogue()) names.gpus.push_back(gpu.name);
  return names;
}

std::string script_for(const std::string& shell, const std::vector<CommandRow>& table) {
  if (shell == "bash") return bash_completion(table, known_names());
  if (shell == "zsh") return zsh_completion(table, known_names());
  return fish_completion(table, known_names());
}

}  // namespace

void add_completion(CLI::App& app, ExitCode& code) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print what a shell loads to complete this program's words");
  command->footer("Example: plimsoll completion bash > ~/.local/share/bash-completion/completions/plimsoll");
  command->add_option("SHELL", *shell, "which shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &code] {
    fmt::print("{}", script_for(*shell, command_table(app)));
    code = ExitCode::kDone;
  });
}

void add_manual(CLI::App& app, ExitCode& code) {
  CLI::App* command = app.add_subcommand("manual", "Print the manual page, for man");
  command->footer("Example: plimsoll manual > plimsoll.1 && man ./plimsoll.1");
  command->callback([&app, &code] {
    fmt::print("{}", manual_page(app, command_table(app)));
    code = ExitCode::kDone;
  });
}

}  // namespace plimsoll
