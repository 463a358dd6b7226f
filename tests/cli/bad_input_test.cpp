#include <catch2/catch.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

struct BadInput {
  const char* what;
  Arguments arguments;
  int code;
  std::vector<std::string> words;  ///< that the error must contain
};

/// Asks each; the error goes to standard error with its words, standard output stays empty, no file appears.
void check(const TemporaryFolder& folder, const std::vector<BadInput>& cases) {
  for (const BadInput& bad : cases) {
    const auto before = files_in(folder);
    const ChildEnd end = plimsoll_in(folder, bad.arguments);
    INFO(bad.what << "\n" << end.err);
    CHECK(end.code == bad.code);
    for (const std::string& word : bad.words) CHECK_THAT(end.err, Catch::Contains(word));
    CHECK(end.out.empty());
    CHECK(files_in(folder) == before);
  }
}

Arguments run_with_data(const std::string& data, const Arguments& more = {}) {
  Arguments line{"run", kTinyModel, "--data", data, "--steps", "3", "--matmul", "openblas", "-o", "run.plimsoll"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

const std::string kGpu = "RTX 2060 6GB";

}  // namespace

TEST_CASE("names that are not known get the nearest ones, and an ambiguous one its variants") {
  const TemporaryFolder folder;
  check(folder,
        {{"model", {"fit", "gtp2-xl", "--on", kGpu}, 2, {"'gtp2-xl'", "gpt2-xl"}},
         {"GPU", {"fit", "gpt2", "--on", "RTX 4090x"}, 2, {"RTX 4090"}},
         {"variants", {"fit", "gpt2", "--on", "RTX 2060"}, 2, {"RTX 2060 6GB", "RTX 2060 12GB"}},
         {"strategy", {"fit", "gpt2", "--on", kGpu, "--strategy", "offload"}, 2, {"'offload'", "offload-optimizer"}},
         {"optimizer", {"fit", "gpt2", "--on", kGpu, "--optimizer", "sdg"}, 2, {"'sdg'", "did you mean sgd"}},
         {"any optimizer", {"fit", "gpt2", "--on", kGpu, "--optimizer", "shampoo"}, 2, {"'shampoo'", "sgd, momentum, adam, adamw"}},
         {"precision", {"fit", "gpt2", "--on", kGpu, "--precision", "fp61"}, 2, {"fp61", "fp32"}},
         {"command", {"fti"}, 2, {"--help"}},
         {"no command", {}, 2, {"no command is named"}},
         {"no model", {"fit"}, 2, {"MODEL"}}});
}

TEST_CASE("pipelines that cannot be are refused with what is near") {
  const TemporaryFolder folder;
  write_file(folder.file("bad.csv"), "0F0,0B0\n1F0,1X0\n");
  write_file(folder.file("stuck.csv"), "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n");
  write_file(folder.file("costs.csv"), "stage,forward,input_gradient,weight_gradient\n0,1,1,1\n0,1,1,x\n");
  const auto of = [](const char* name, const char* ranks, const char* count, const Arguments& more = {}) {
    Arguments line{"schedule", name, "--stages", ranks, "--micro-batches", count};
    line.insert(line.end(), more.begin(), more.end());
    return line;
  };
  check(folder, {{"name", of("1f2b", "4", "8"), 2, {"'1f2b'", "1f1b"}},
                 {"odd", of("chimera", "3", "6"), 2, {"even number of ranks", "2 or 4"}},
                 {"count", of("interleaved", "4", "9"), 2, {"multiple of 4", "8 or 12"}},
                 {"chunks", of("1f1b", "4", "8", {"--chunks", "2"}), 2, {"--chunks 1"}},
                 {"nothing", {"schedule"}, 2, {"--list"}},
                 {"no count", {"schedule", "1f1b", "--stages", "4"}, 2, {"--micro-batches"}},
                 {"costs", of("1f1b", "4", "8", {"--costs", "1,2"}), 2, {"'1,2'", "four numbers"}},
                 {"below zero", of("1f1b", "4", "8", {"--costs", "1,1,-1,0"}), 2, {"--costs", "-1"}},
                 {"cost rows", of("1f1b", "2", "8", {"--costs", "costs.csv"}), 2, {"costs.csv:3", "stage"}},
                 {"cap", of("auto", "4", "8", {"--memory-cap", "0.5"}), 3, {"--memory-cap"}},
                 {"cell", {"schedule", "--file", "bad.csv"}, 2, {"bad.csv:2, cell 2", "'1X0'"}},
                 {"deadlock", {"schedule", "--file", "stuck.csv"}, 2, {"stuck.csv: rank 0, op 1 (0B0): a deadlock"}},
                 {"no file", {"schedule", "--file", "none.csv"}, 2, {"none.csv"}},
                 {"both", {"schedule", "gpipe", "--file", "bad.csv"}, 2, {"--file"}},
                 {"group", of("1f1b", "4", "8", {"--group", "4"}), 2, {"--group"}},
                 {"overlapped", of("zb-v", "4", "8", {"--overlapped"}), 2, {"--overlapped"}},
                 {"vertical sync", of("2bw", "4", "8", {"--vertical-sync"}), 2, {"--vertical-sync"}},
                 {"rounds",
                  of("pipedream", "16", "4000", {"--stage-replicas", "2,3,5,7,11,13,17,19,23,29,31,37,41,43,47,53"}),
                  2,
                  {"--stage-replicas", "common multiple"}},
                 {"no pairs", of("dualpipe", "4", "8", {"--pair-time", "0.8"}), 2, {"--pair-time"}},
                 {"no weights", of("gpipe", "4", "8", {"--keep-for-weights", "0.5"}), 2, {"--keep-for-weights"}},
                 {"not replaced", of("1f1b", "2", "2", {"--csv", "costs.csv"}), 2, {"not replaced"}},
                 {"nor this", of("1f1b", "2", "2", {"--svg", "costs.csv"}), 2, {"no SVG file"}}});
}

TEST_CASE("sizes that cannot be are refused by the name of their option") {
  const TemporaryFolder folder;
  const auto fit = [](const char* option, const char* value) {
    return Arguments{"fit", "gpt2", "--on", kGpu, option, value};
  };
  check(folder,
        {{"sequence beyond positions", fit("--seq", "2048"), 2, {"2048", "1024 positions"}},
         {"batch", fit("--batch", "0"), 2, {"--batch"}},
         {"huge batch", fit("--batch", "99999999999999999999"), 2, {"--batch"}},
         {"accumulate", fit("--accumulate", "-1"), 2, {"--accumulate"}},
         {"a step of too many instructions",
          fit("--accumulate", "16000000"),
          2,
          {"million instructions", "--accumulate"}},
         {"too many layers",
          {"fit", "gpt:layers=90000,hidden=8,heads=2,vocab=9", "--on", kGpu},
          2,
          {"million instructions"}},
         {"negative memory", fit("--ram", "-5GiB"), 2, {"--ram"}},
         {"memory without a unit", fit("--ram", "lots"), 2, {"--ram", "lots"}},
         {"link", fit("--pcie", "3by16"), 2, {"--pcie"}},
         {"drive", fit("--ssd", "2TB:fast"), 2, {"--ssd"}},
         {"clip", fit("--clip", "nan"), 2, {"--clip"}},
         {"no layers", {"fit", "gpt:layers=0,hidden=32,heads=4,vocab=9"}, 2, {"layers=0"}},
         {"heads that do not divide", {"fit", "gpt:layers=1,hidden=33,heads=4,vocab=9"}, 2, {"33"}},
         {"no steps", {"run", kTinyModel, "--data", kText, "--steps", "0"}, 2, {"--steps"}},
         {"one warm-up step", {"run", kTinyModel, "--data", kText, "--warm-up-steps", "1"}, 2, {"--warm-up-steps"}},
         {"negative interval", {"run", kTinyModel, "--data", kText, "--save-every", "-1"}, 2, {"--save-every"}},
         {"evaluation without data", {"run", kTinyModel, "--data", kText, "--eval-every", "2"}, 2, {"--eval-data"}},
         {"memory that is not there", run_with_data(kText, {"--device-memory", "900TiB"}), 3, {"900"}},
         {"a device that is too small",
          run_with_data(kText, {"--device-memory", "1KiB"}),
          3,
          {"gpu0 needs", "short by"}}});
}

TEST_CASE("what only several ranks can follow is refused on one, and is never left out in silence") {
  const TemporaryFolder folder;
  const auto alone = [](const Arguments& more) { return run_with_data(kText, more); };
  check(folder,
        {{"micro-batches", alone({"--micro-batches", "4"}), 2, {"--micro-batches is of a run on several ranks", "--accumulate"}},
         {"vertical sync", alone({"--vertical-sync"}), 2, {"--vertical-sync is of a run on several ranks"}},
         {"waits", alone({"--timed-waits", "2"}), 2, {"--timed-waits is of a run on several ranks", "leave it out"}},
         {"a pipeline's schedule",
          alone({"--schedule", "zb-h1"}),
          2,
          {"--schedule zb-h1 is the order of a pipeline", "add --pp"}},
         {"chunks beyond 32 bits", alone({"--pp", "2", "--chunks", "4294967297"}), 2, {"--chunks", "not in range"}},
         {"negative chunks", alone({"--pp", "2", "--chunks", "-1"}), 2, {"--chunks", "not in range"}}});
}

TEST_CASE("an optimizer's number that is impossible, or that it does not read, is refused by its option") {
  const TemporaryFolder folder;
  const auto run = [](const char* optimizer, const Arguments& more) {
    Arguments line = run_with_data(kText, {"--optimizer", optimizer});
    line.insert(line.end(), more.begin(), more.end());
    return line;
  };
  check(folder, {{"betas", run("adam", {"--betas", "0.9,1"}), 2, {"--betas"}},
                 {"momentum", run("momentum", {"--momentum", "1.5"}), 2, {"--momentum"}},
                 {"trust", run("lars", {"--trust", "0"}), 2, {"--trust"}},
                 {"nothing to look ahead by", run("momentum", {"--momentum", "0", "--nesterov"}), 2, {"--nesterov"}},
                 {"betas of none", run("sgd", {"--betas", "0.9,0.99"}), 2, {"optimizer sgd has no --betas"}},
                 {"epsilon of none", run("lion", {"--eps", "1e-3"}), 2, {"optimizer lion has no --eps"}},
                 {"momentum of none", run("adamw", {"--momentum", "0.9"}), 2, {"optimizer adamw has no --momentum"}},
                 {"trust of none", run("lamb", {"--trust", "0.1"}), 2, {"optimizer lamb has no --trust"}},
                 {"steps of none", run("sm3", {"--absolute-step"}), 2, {"optimizer sm3 has no --absolute-step"}}});
}

TEST_CASE("data that cannot be trained on is refused by file and offset") {
  const TemporaryFolder folder;
  write_file(folder.file("empty.txt"), "");
  write_file(folder.file("short.txt"), "too short");
  write_file(folder.file("odd.bin"), std::string(101, '\0'));
  std::string tokens(200, '\0');
  tokens[101] = 1;  // token 50 is 256, one beyond the vocabulary
  write_file(folder.file("beyond.bin"), tokens);
  check(folder, {{"missing", run_with_data("missing.txt"), 2, {"missing.txt", "No such file"}},
                 {"empty", run_with_data("empty.txt"), 2, {"empty.txt", "empty"}},
                 {"shorter than a sequence", run_with_data("short.txt"), 2, {"short.txt", "9"}},
                 {"half a token", run_with_data("odd.bin"), 2, {"odd.bin", "odd number"}},
                 {"beyond the vocabulary", run_with_data("beyond.bin"), 2, {"beyond.bin", "256", "offset"}},
                 {"held-out data", run_with_data(kText, {"--eval-data", "empty.txt"}), 2, {"empty.txt"}},
                 {"a folder", run_with_data("."), 2, {"not a regular file"}}});
}

namespace {

/// A folder with a plan, and a run with its weights and its training state.
struct TinyTraining {
  TinyTraining() {
    REQUIRE(plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "-o", "plan.json"}).code == 0);
    REQUIRE(plimsoll_in(folder, tiny_run("2", {"--save", "w.safetensors"})).code == 0);
  }

  [[nodiscard]] std::string text(const std::string& name) const { return read_whole(folder.file(name)); }
  /// The first half of what another file holds.
  void cut(const std::string& name, const std::string& from) const {
    const std::string whole = text(from);
    write_file(folder.file(name), whole.substr(0, whole.size() / 2));
  }

  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("a plan or run file that is broken or cut short is refused by name, place and what was expected") {
  const TinyTraining made;
  write_file(made.folder.file("cut.json"), "{\n  \"format_version\": 1,");
  std::string newer = made.text("plan.json");
  newer.insert(newer.find_first_of("123456789", newer.find("format_version")), 1, '9');
  write_file(made.folder.file("newer.json"), newer);
  write_file(made.folder.file("list.json"), "[1, 2]");
  write_file(made.folder.file("empty.json"), "");
  write_file(made.folder.file("config.json"), R"({"model_type": "gpt2"})");
  write_file(made.folder.file("few.csv"), "a,b\n");
  std::filesystem::create_directory(made.folder.file("folder"));
  made.cut("cut.plimsoll", "run.plimsoll");
  check(made.folder,
        {{"plan", {"simulate", "cut.json"}, 2, {"cut.json", "line 2, byte 24", "expected"}},
         {"validate", {"validate", "cut.json"}, 2, {"cut.json", "byte"}},
         {"run of a plan", {"run", "cut.json", "--data", kText, "-o", "again.plimsoll"}, 2, {"cut.json", "byte"}},
         {"no plan at all", {"simulate", "list.json"}, 2, {"list.json"}},
         {"empty plan", {"simulate", "empty.json"}, 2, {"empty.json"}},
         {"a plan of a newer program", {"simulate", "newer.json"}, 2, {"newer.json", "format_version 91"}},
         {"run file as a plan", {"simulate", "run.plimsoll"}, 2, {"run.plimsoll"}},
         {"plan as a run file", {"compare", "plan.json"}, 2, {"plan.json"}},
         {"run file", {"show", "cut.plimsoll"}, 2, {"cut.plimsoll"}},
         {"folder as a run file", {"show", "folder"}, 2, {"folder: this is a folder"}},
         {"model's configuration as a plan", {"simulate", "config.json"}, 2, {"config.json: this is a model's configuration, not a plan"}},
         {"short table that is no measurements", {"fit", "gpt2", "--calibration", "few.csv"}, 2, {"few.csv: the file holds no samples"}},
         {"no such run file", {"compare", "nothing"}, 2, {"nothing", "no such file"}},
         {"no such plan", {"simulate", "nothing.json"}, 2, {"nothing.json", "no such file"}}});
}

TEST_CASE("weights, states and configurations that are broken or cut short are refused by name and place") {
  const TinyTraining made;
  made.cut("cut.safetensors", "w.safetensors");
  made.cut("cut.checkpoint", "run.plimsoll.checkpoint.safetensors");
  write_file(made.folder.file("tiny.safetensors"), made.text("w.safetensors").substr(0, 5));
  write_file(
      made.folder.file("config.json"),
      R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 4, "n_layer": "many", "n_head": 2})");
  const auto started = [](const char* from) {
    return Arguments{"run", kTinyModel, "--data", kText, "--steps", "3", "--init", from, "-o", "again.plimsoll"};
  };
  check(made.folder,
        {{"weights", started("cut.safetensors"), 2, {"cut.safetensors", "byte"}},
         {"less than a header", started("tiny.safetensors"), 2, {"tiny.safetensors", "byte"}},
         {"no such weights", started("nothing.safetensors"), 2, {"nothing.safetensors"}},
         {"weights as a training state",
          {"run", kTinyModel, "--data", kText, "--resume", "w.safetensors", "-o", "a.plimsoll"},
          2,
          {"w.safetensors", "no training state"}},
         {"training state",
          {"run", kTinyModel, "--data", kText, "--resume", "cut.checkpoint", "-o", "a.plimsoll"},
          2,
          {"cut.checkpoint"}},
         {"config", {"fit", "config.json"}, 2, {"config.json", "n_layer"}},
         {"safetensors as a model", {"fit", "cut.safetensors"}, 2, {"cut.safetensors"}}});
}

}  // namespace plimsoll::test
