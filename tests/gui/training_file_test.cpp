// A training file that is opened in the window is the training that the program answers for.
#include <catch2/catch.hpp>

#include <QLineEdit>
#include <QProcess>
#include <QTextBrowser>

#include <nlohmann/json.hpp>

#include <fstream>

#include "gui/app/find_engine.h"
#include "gui/explore/explore_page.h"
#include "gui/explore/training_file_choices.h"
#include "gui/fields/name_field.h"
#include "tests/gui/application.h"

using namespace plimsoll;
using namespace plimsoll::gui;

namespace {

constexpr const char* kQLoRA = R"(
model_name_or_path: Qwen/Qwen2.5-0.5B
stage: sft
finetuning_type: lora
lora_target: q_proj,v_proj
quantization_bit: 4
cutoff_len: 512
per_device_train_batch_size: 2
bf16: true
optim: paged_adamw_8bit
flash_attn: fa2
a_key_of_nobody: 7
)";

constexpr const char* kTorchtune = R"(
model:
  _component_: torchtune.models.qwen2_5.qwen2_5_0_5b
tokenizer:
  max_seq_len: 1024
optimizer:
  _component_: bitsandbytes.optim.PagedAdamW8bit
optimizer_in_bwd: true
loss:
  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss
batch_size: 2
dtype: bf16
compile: true
enable_activation_checkpointing: true
)";

constexpr const char* kGrpo = R"(
model_name_or_path: Qwen/Qwen2.5-0.5B
num_generations: 4
max_prompt_length: 128
max_completion_length: 128
per_device_train_batch_size: 4
use_vllm: true
vllm_mode: colocate
vllm_gpu_memory_utilization: 0.3
bf16: true
)";

constexpr const char* kLaunch = R"(
distributed_type: FSDP
num_processes: 2
mixed_precision: bf16
fsdp_config:
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_offload_params: true
)";

QString written(const TemporaryFolder& folder, const char* name, const char* text) {
  std::ofstream(folder.file(name)) << text;
  return QString::fromStdString(folder.file(name));
}

/// What the program answers to these words.
nlohmann::json told(const QStringList& words) {
  QProcess program;
  program.start(find_engine(), QStringList{"fit"} + words + QStringList{"--json"});
  REQUIRE(program.waitForFinished(300'000));
  INFO(program.readAllStandardError().toStdString());
  return nlohmann::json::parse(program.readAllStandardOutput().toStdString());
}

ExplorePage& explore(MainWindow& window) { return dynamic_cast<ExplorePage&>(*window.page("explore")); }

}  // namespace

TEST_CASE("the choices that a training file stands for are asked as the file itself is") {
  const TemporaryFolder folder;
  test::start_qt();
  Choices before;
  before.model = "Qwen/Qwen2.5-0.5B";
  before.gpu = "RTX 3090";
  before.ram_gib = 64;
  for (const char* text : {kQLoRA, kTorchtune, kGrpo, kLaunch}) {
    const QString path = written(folder, "train.yaml", text);
    const auto choices = with_training_file(before, path);
    REQUIRE(choices);
    REQUIRE(asks_program(*choices));
    const QStringList typed = text == kLaunch ? QStringList{before.model, path} : QStringList{path};  // a launch file names no model
    INFO(fit_options(*choices).join(' ').toStdString());
    CHECK(told(fit_options(*choices)) == told(typed + QStringList{"--on", "RTX 3090", "--ram", "64GiB"}));
  }
}

TEST_CASE("what has a field fills it, the rest are further options, and the machine stays") {
  const TemporaryFolder folder;
  Choices before;
  before.gpu = "RTX 4090";
  before.ram_gib = 128;
  before.optimizer = "lamb";
  before.sequence = 77;
  const auto choices = with_training_file(before, written(folder, "train.yaml", kQLoRA));
  REQUIRE(choices);
  CHECK(choices->gpu == "RTX 4090");
  CHECK(choices->ram_gib == 128);
  CHECK(choices->model == "Qwen/Qwen2.5-0.5B");
  CHECK(choices->stack == "pytorch");
  CHECK(choices->optimizer == "adam8bit");
  CHECK(choices->sequence == 512);
  CHECK(choices->batch == 2);
  CHECK(choices->lora_rank == 8);
  CHECK(choices->lora_targets == "q_proj,v_proj");
  CHECK(choices->base_bits == 4);
  CHECK(choices->more == "--attention flash --paged-states");
  CHECK(choices->file_notes.join('\n').contains("not read: a_key_of_nobody 7"));
  CHECK(choices->file_notes.front().endsWith("train.yaml (LLaMA-Factory)"));
}

TEST_CASE("a training file that is opened fills the page, can be undone, and says what of it is not read") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "gpt2"}, {"on", "RTX 3090"}, {"ram", "32GiB"}});
  ExplorePage& page = explore(*window);
  REQUIRE(test::wait_until([&] { return !page.busy(); }));
  REQUIRE(window->open_file(written(folder, "train.yaml", kQLoRA)));
  REQUIRE(test::wait_until([&] { return !page.busy(); }));
  CHECK(page.problem().toStdString().empty());
  REQUIRE(page.verdict() != nullptr);
  CHECK(page.verdict()->answer().stack == "pytorch");
  CHECK(page.findChild<QLineEdit*>("more")->text() == "--attention flash --paged-states");
  bool told_unread = false;
  for (const auto* view : page.findChildren<QTextBrowser*>()) told_unread = told_unread || view->toPlainText().contains("a_key_of_nobody 7");
  CHECK(told_unread);
  window->undo_stack().undo();
  CHECK(page.choices().model == "gpt2");
  CHECK(page.choices().more.isEmpty());
}

TEST_CASE("a training file whose path is typed as the model is read; one that says what cannot be told is a message") {
  const TemporaryFolder folder;
  const auto window = test::make_window(folder, {{"model", "gpt2"}, {"on", "RTX 3090"}, {"ram", "32GiB"}});
  ExplorePage& page = explore(*window);
  Q_EMIT page.findChild<NameField*>("model")->changed(written(folder, "typed.yml", kTorchtune));
  CHECK(page.choices().modules == "torchtune");
  CHECK(page.choices().compile);
  const QString shown = page.findChild<NameField*>("model")->currentText();
  Q_EMIT page.findChild<NameField*>("model")->changed(written(folder, "odd.yaml", "model_name_or_path: gpt2\nstage: ppo\n"));
  CHECK(test::reported(*window).contains("ppo"));
  CHECK(page.findChild<NameField*>("model")->currentText() == shown);
  REQUIRE(window->open_file(written(folder, "odd.yaml", "model_name_or_path: gpt2\nstage: ppo\n")));
  CHECK(test::reported(*window).contains("ppo"));
  CHECK(page.choices().modules == "torchtune");
  REQUIRE(test::wait_until([&] { return !page.busy(); }));
}

TEST_CASE("further options are asked beside the fields, with their quotes, and go with the program that has them") {
  Choices c;
  c.stack = "pytorch";
  c.more = "--attention flash --lengths \"my lengths.txt\"";
  const QStringList asked = fit_options(c);
  CHECK(asked.mid(asked.size() - 4) == QStringList{"--attention", "flash", "--lengths", "my lengths.txt"});
  c.stack = "plimsoll";
  CHECK_FALSE(fit_options(c).contains("--attention"));
}
