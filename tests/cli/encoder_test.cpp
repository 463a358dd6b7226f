#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

// BERT and ViT as a user meets them.
namespace plimsoll::test {
namespace {

using nlohmann::json;

const std::string kBert = "bert:layers=2,hidden=32,heads=4,ffn=64,vocab=300,positions=32,mask=299";
const std::string kVit = "vit:layers=2,hidden=32,heads=4,ffn=64,image=8,patch=4,classes=3";

ChildEnd train(const TemporaryFolder& folder, const std::string& model, const std::string& data, const Arguments& more,
               const std::string& steps = "4") {
  Arguments line{"run", model, "--data", data, "--steps", steps, "--device-memory", "16MiB", "--ram", "512MiB", "--warm-up-steps",
                 "0", "-o", "run.plimsoll", "--force", "--json", "-q"};
  line.insert(line.end(), more.begin(), more.end());
  return plimsoll_in(folder, line);
}

json answer_of(const ChildEnd& end) {
  INFO(end.err);
  REQUIRE(end.code == 0);
  return json::parse(end.out);
}

std::string records() {
  std::string lines;
  for (int i = 0; i < 8; ++i) {
    lines += json{{"tokens", {1, 10 + i % 2, 20 + i, 2}}, {"label", i % 2}}.dump() + "\n";
  }
  return lines;
}

std::string images() {
  std::string bytes;
  for (int i = 0; i < 6; ++i) {
    bytes += std::string(1, static_cast<char>(i % 3)) + std::string(3 * 8 * 8, static_cast<char>(60 * (i % 3)));
  }
  return bytes;
}

}  // namespace

TEST_CASE("a BERT learns hidden tokens, is saved, and begins to learn classes with a new head from there") {
  const TemporaryFolder folder;
  write_file(folder.file("data.jsonl"), records());
  const json masked = answer_of(train(folder, kBert, kText, {"--seq", "16", "--eval-data", kText, "--save", "masked"}));
  CHECK(masked["losses"].size() == 4);
  CHECK(masked["evaluations"][0]["accuracy"].is_number());
  const json classes = answer_of(train(folder, "masked", "data.jsonl",
                                       {"--init", "masked", "--classes", "2", "--seq", "8", "--eval-data", "data.jsonl",
                                        "--save", "classes"}));
  const double accuracy = classes["evaluations"][0]["accuracy"];
  CHECK((accuracy >= 0 && accuracy <= 1));
  const json config = json::parse(read_whole(folder.file("classes/config.json")));
  CHECK(config["architectures"][0] == "BertForSequenceClassification");
  CHECK(config["id2label"].size() == 2);
  answer_of(train(folder, "classes", "data.jsonl", {"--init", "classes", "--seq", "8"}));
}

TEST_CASE("a ViT learns from images, is saved, and gets a head of other classes") {
  const TemporaryFolder folder;
  write_file(folder.file("data.bin"), images());
  const json first = answer_of(train(folder, kVit, "data.bin", {"--eval-data", "data.bin", "--save", "vit"}));
  CHECK(first["evaluations"][0]["accuracy"].is_number());
  answer_of(train(folder, "vit", "data.bin", {"--init", "vit"}));
  CHECK_THAT(train(folder, "vit", "data.bin", {"--init", "vit", "--classes", "5"}).err,
             Catch::Contains("'classifier.weight' has shape [3, 32], but the model needs [5, 32]"));
}

TEST_CASE("images and records of a resumed run are those that it had") {
  const TemporaryFolder folder;
  const std::string pixels = images();
  write_file(folder.file("data.bin"), pixels);
  write_file(folder.file("other.bin"), pixels.substr(0, pixels.size() - 1) + "#");
  write_file(folder.file("data.jsonl"), records());
  write_file(folder.file("other.jsonl"), records() + records());
  const auto resumed = [&](const std::string& data) {
    return plimsoll_in(
        folder, {"run", "--resume", "run.plimsoll", "--data", data, "--steps", "4", "-o", "rest.plimsoll", "--force",
                 "--device-memory", "16MiB", "--ram", "512MiB", "--warm-up-steps", "0", "--json", "-q"});
  };
  const auto check = [&](const std::string& had, const std::string& other) {
    const ChildEnd refused = resumed(other);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains(had) && Catch::Contains(other));
    answer_of(resumed(had));
  };
  answer_of(train(folder, kVit, "data.bin", {}, "2"));
  check("data.bin", "other.bin");
  answer_of(train(folder, kBert, "data.jsonl", {"--classes", "2", "--seq", "8"}, "2"));
  check("data.jsonl", "other.jsonl");
}

TEST_CASE("a run with hidden tokens that is resumed has the losses of one that was not stopped") {
  const TemporaryFolder folder;
  const json whole = answer_of(train(folder, kBert, kText, {"--seq", "16", "--matmul", "openblas"}))["losses"];
  answer_of(train(folder, kBert, kText, {"--seq", "16", "--matmul", "openblas"}, "2"));
  const ChildEnd rest = plimsoll_in(folder, {"run", "--resume", "run.plimsoll", "--data", kText, "--steps", "4", "-o", "rest.plimsoll",
                                             "--device-memory", "16MiB", "--ram", "512MiB", "--warm-up-steps", "0", "--json", "-q"});
  const json second = answer_of(rest)["losses"];
  CHECK(second == json{whole[2], whole[3]});
}

TEST_CASE("what an encoder cannot be or learn from is refused with a reason") {
  const TemporaryFolder folder;
  write_file(folder.file("data.jsonl"), records() + "{\"tokens\": [1], \"label\": 7}\n");
  write_file(folder.file("short.bin"), images() + "x");
  const auto refusal = [&](const std::string& model, const std::string& data, const Arguments& more) {
    const ChildEnd end = train(folder, model, data, more);
    CHECK(end.code == 2);
    return end.err;
  };
  CHECK_THAT(refusal(kTinyModel, kText, {"--classes", "2", "--seq", "16"}), Catch::Contains("this is none"));
  CHECK_THAT(refusal(kBert, "data.jsonl", {"--classes", "2", "--seq", "8"}),
             Catch::Contains("data.jsonl: line 9: the label 7 is beyond the 2 classes"));
  CHECK_THAT(refusal(kBert, kText, {"--classes", "2", "--seq", "8"}), Catch::Contains("records with labels"));
  CHECK_THAT(refusal(kVit, "short.bin", {}), Catch::Contains("short.bin: the file's"));
  CHECK_THAT(refusal(kVit, "short.bin", {"--seq", "9"}), Catch::Contains("sequences of 5 tokens, not 9"));
}

TEST_CASE("fit answers for BERT and ViT on a GPU") {
  const TemporaryFolder folder;
  for (const std::string model : {"bert-base", "vit-b/16"}) {
    const ChildEnd end = plimsoll_in(folder, {"fit", model, "--on", "RTX 2060 6GB", "--ram", "16GiB", "--batch", "8", "--json"});
    INFO(end.err);
    REQUIRE(end.code == 0);
    const json answer = json::parse(end.out);
    CHECK(answer["verdict"] == "fits");
    CHECK(answer["model"]["parameters"] == (model == "bert-base" ? 109'514'298 : 86'567'656));
  }
}

}  // namespace plimsoll::test
