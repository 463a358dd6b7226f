#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/answer_of_run.h"
#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

Arguments resume(const std::string& from, const Arguments& more = {}) {
  Arguments line{"run", "--resume", from, "--data", kText, "--steps", "8", "-o", "more.plimsoll", "--force", "--json"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

const Arguments kRecipe{"--lr", "0.01", "--batch", "2", "--accumulate", "2", "--seed", "7"};

}  // namespace

TEST_CASE("a run file and its checkpoint both resume without a word about model and recipe, bit for bit") {
  const TemporaryFolder folder;
  Arguments with_json = kRecipe;
  with_json.push_back("--json");
  const json whole = losses_of(plimsoll_in(folder, tiny_run("8", with_json)));
  std::filesystem::remove(folder.file("run.plimsoll"));
  REQUIRE(plimsoll_in(folder, tiny_run("5", kRecipe)).code == 0);
  const json rest(std::vector<json>(whole.begin() + 5, whole.end()));

  CHECK(losses_of(plimsoll_in(folder, resume("run.plimsoll"))) == rest);
  CHECK(losses_of(plimsoll_in(folder, resume("run.plimsoll.checkpoint.safetensors"))) == rest);
  CHECK(losses_of(plimsoll_in(folder, resume("run.plimsoll", {"--strategy", "offload-optimizer", "--lr", "0.01"}))) ==
        rest);

  std::filesystem::create_directory(folder.file("moved"));
  for (const char* suffix : {"", ".checkpoint.safetensors"}) {
    std::filesystem::rename(folder.file("run.plimsoll") + suffix, folder.file("moved/it") + suffix);
  }
  CHECK(losses_of(plimsoll_in(folder, resume("moved/it"))) == rest);
  std::filesystem::remove(folder.file("moved/it"));
  const Arguments bare = resume("moved/it.checkpoint.safetensors");
  CHECK_THAT(plimsoll_in(folder, bare).err, Catch::Contains("MODEL is missing"));
  Arguments told = bare;
  told.insert(told.begin() + 1, kTinyModel);
  told.insert(told.end(), kRecipe.begin(), kRecipe.end());
  CHECK(losses_of(plimsoll_in(folder, told)) == rest);
}

TEST_CASE("runs of two-byte types go on from their checkpoint bit for bit, and say which steps overflowed") {
  const TemporaryFolder folder;
  for (const std::string precision : {"bf16-mixed", "fp16-mixed", "bf16"}) {
    CAPTURE(precision);
    Arguments recipe = kRecipe;
    recipe.insert(recipe.end(), {"--precision", precision, "--json", "--force"});
    if (precision == "fp16-mixed") recipe.insert(recipe.end(), {"--loss-scale", "dynamic:4194304:2"});
    const ChildEnd end = plimsoll_in(folder, tiny_run("8", recipe));
    const json whole = losses_of(end), answer = json::parse(end.out);
    CHECK(answer.contains("loss_scale") == (precision == "fp16-mixed"));
    CHECK(answer.contains("skipped_steps") == (precision == "fp16-mixed"));
    if (precision == "fp16-mixed") CHECK(answer["skipped_steps"].size() > 1);
    REQUIRE(plimsoll_in(folder, tiny_run("5", recipe)).code == 0);
    CHECK(losses_of(plimsoll_in(folder, resume("run.plimsoll"))) == json(std::vector<json>(whole.begin() + 5, whole.end())));
  }
  const auto refusal = [&](const Arguments& more) {
    const ChildEnd end = plimsoll_in(folder, tiny_run("2", more));
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refusal({"--force", "--loss-scale", "8"}), Catch::Contains("is for fp16-mixed"));
  CHECK_THAT(refusal({"--force", "--precision", "fp16-mixed", "--loss-scale", "x"}), Catch::Contains("'x' is no loss scale"));
}

TEST_CASE("a resumed run refuses by name what differs from the run") {
  const TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, tiny_run("2", kRecipe)).code == 0);
  const auto refused = [&](const Arguments& arguments, const std::string& words) {
    const ChildEnd end = plimsoll_in(folder, arguments);
    INFO(end.err);
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Catch::Contains(words));
    CHECK_FALSE(std::filesystem::exists(folder.file("more.plimsoll")));
  };
  refused(resume("run.plimsoll", {"--lr", "0.5"}), "--lr 0.5 does not go with run.plimsoll, which has 0.01");
  refused(resume("run.plimsoll", {"--global-batch", "8"}),
          "--global-batch 8 does not go with run.plimsoll, which has 4");
  refused(resume("run.plimsoll", {"--matmul", "onednn"}), "--matmul onednn");
  refused(resume("run.plimsoll", {"--init", "w.safetensors"}), "--init and --resume");
  refused(resume("run.plimsoll", {"gpt2"}), "not gpt2");
  refused({"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "2", "-o", "more.plimsoll"},
          "already holds 2 steps");
  refused(resume("nothing"), "nothing");
  std::filesystem::remove(folder.file("run.plimsoll.checkpoint.safetensors"));
  refused(resume("run.plimsoll"), "is gone");
}

TEST_CASE(
    "a run goes on with the data that it had, whatever its file is called, and with other data only when that is "
    "said") {
  const TemporaryFolder folder;
  const std::string text = read_whole(kText);
  write_file(folder.file("mine.txt"), text);
  write_file(folder.file("same.txt"), text);
  write_file(folder.file("other.txt"), text.substr(0, text.size() - 1) + "#");  // as long
  const auto begin = [&](const std::string& steps, const Arguments& more) {
    Arguments line{"run",     kTinyModel, "--data",          "mine.txt", "--steps", steps,   "-o",       "run.plimsoll",
                   "--force", "--json",   "--device-memory", "16MiB",    "--ram",   "64MiB", "--matmul", "openblas"};
    line.insert(line.end(), more.begin(), more.end());
    return plimsoll_in(folder, line);
  };
  const auto go_on = [&](const char* from, const char* data, const Arguments& more) {
    Arguments line{"run", "--resume", from, "--data", data, "--steps", "8", "-o", "more.plimsoll", "--force", "--json"};
    line.insert(line.end(), more.begin(), more.end());
    return plimsoll_in(folder, line);
  };
  const json whole = losses_of(begin("8", {}));
  losses_of(begin("5", {}));
  const std::vector<std::string> before = files_in(folder);
  for (const char* from : {"run.plimsoll", "run.plimsoll.checkpoint.safetensors"}) {
    const ChildEnd refused = go_on(from, "other.txt", {});
    INFO(refused.err);
    CHECK(refused.code == 2);
    for (const char* word : {"mine.txt", "other.txt", "--other-data"}) CHECK_THAT(refused.err, Catch::Contains(word));
    CHECK(files_in(folder) == before);
  }
  CHECK(losses_of(go_on("run.plimsoll", "same.txt", {})) == json(std::vector<json>(whole.begin() + 5, whole.end())));
  CHECK(losses_of(go_on("run.plimsoll", "other.txt", {"--other-data"})).size() == 3);
  CHECK(plimsoll_in(folder,
                    {"run", "--resume", "more.plimsoll", "--data", "mine.txt", "--steps", "9", "-o", "last.plimsoll"})
            .code == 2);
  CHECK(plimsoll_in(folder,
                    {"run", "--resume", "more.plimsoll", "--data", "other.txt", "--steps", "9", "-o", "last.plimsoll"})
            .code == 0);
  CHECK_THAT(begin("5", {"--other-data"}).err, Catch::Contains("--other-data is for a run that goes on"));
}

TEST_CASE("a plan file refuses options that it has decided, and a GPU's plan does not run here") {
  const TemporaryFolder folder;
  REQUIRE(
      plimsoll_in(folder, {"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "-o", "plan.json"}).code ==
      0);
  REQUIRE(plimsoll_in(folder, {"plan", kTinyModel, "--on", "RTX 2060 6GB", "-o", "gpu.json"}).code == 0);
  const auto refused = [&](const char* plan, const Arguments& more, const std::string& words) {
    Arguments line{"run", plan, "--data", kText, "--steps", "2"};
    line.insert(line.end(), more.begin(), more.end());
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(end.err);
    CHECK(end.code != 0);
    CHECK_THAT(end.err, Catch::Contains(words));
    CHECK(files_in(folder) == std::vector<std::string>{"gpu.json", "plan.json"});
  };
  refused("plan.json", {"--lr", "3"}, "--lr 3 does not go with plan.json");
  refused("plan.json", {"--seq", "16"}, "--seq 16 does not go with plan.json");
  refused("plan.json", {"--strategy", "resident"}, "--strategy");
  refused("plan.json", {"--device-memory", "16KiB"}, "gpu0 needs");
  refused("gpu.json", {}, "RTX 2060 6GB");
}

}  // namespace plimsoll::test
