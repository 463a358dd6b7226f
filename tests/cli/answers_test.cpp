#include <sys/resource.h>

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using Catch::Contains;
using nlohmann::json;

Arguments with(Arguments line, const Arguments& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

const Arguments kFit{"fit", kTinyModel, "--on", "RTX 2060 6GB", "--seq", "32"};

/// Of all children that have ended.
long page_faults() {
  rusage used{};
  REQUIRE(getrusage(RUSAGE_CHILDREN, &used) == 0);
  return used.ru_minflt;
}

}  // namespace

TEST_CASE("a search uses the memory again that it freed") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
  WARN("skipped: another allocator");
#else
  const TemporaryFolder folder;
  const long before = page_faults();
  CHECK(plimsoll_in(folder, {"fit", "gpt2", "--on", "RTX 2060 6GB", "--ram", "8GiB"}).code == 0);
  CHECK(page_faults() - before < 4000);  // 1,710 counted; 8,493 where freed memory is given back at once
#endif
}

TEST_CASE("fit with --tokens answers the contract's training object, and more tokens take longer") {
  const TemporaryFolder folder;
  const auto training_of = [&](const std::string& tokens) {
    const ChildEnd end = plimsoll_in(folder, with(kFit, {"--tokens", tokens, "--price", "0.5", "--electricity", "0.3",
                                                         "--prepare", "none", "--json"}));
    CHECK(end.code == 0);
    return json::parse(end.out)["training"];
  };
  const json one = training_of("1B"), ten = training_of("10B");
  CHECK(one["steps"] == 31250000);  // 1e9 tokens, 32 a step
  CHECK(ten["seconds"].get<double>() == Approx(10 * one["seconds"].get<double>()).epsilon(0.01));
  CHECK(one["cost"].get<double>() == Approx(one["rent"].get<double>() + one["electricity"].get<double>()));
  CHECK(one["rent"].get<double>() == Approx(0.5 * one["seconds"].get<double>() / 3600));
  const json without = json::parse(plimsoll_in(folder, with(kFit, {"--json"})).out)["training"];
  CHECK(without["seconds"].is_null());
  CHECK(without["cost"].is_null());
}

TEST_CASE("options of a whole training without its length, and of help without asking for it, are refused by name") {
  const TemporaryFolder folder;
  const auto refused = [&](const Arguments& more, const std::string& words) {
    const ChildEnd end = plimsoll_in(folder, with(kFit, more));
    CHECK(end.code == 2);
    CHECK_THAT(end.err, Contains(words));
  };
  refused({"--price", "1"}, "--price");
  refused({"--tokens", "1B", "--price", "-3"}, "--price: -3 is less than 0");
  refused({"--tokens", "1B", "--electricity", "free"}, "--electricity: 'free' is no number");
  refused({"--tbw", "600TB"}, "--tbw");
  refused({"--epochs", "3"}, "--tokens");
  refused({"--tokens", "the-pyle"}, "the-pile");
  refused({"--tokens", "1B", "--prepare", "later"}, "ahead");
  refused({"--price-of", "ram=3"}, "--what-would-help");
  refused({"--what-would-help", "--price-of", "ram"}, "ITEM=PRICE");
  refused({"--what-would-help", "--price-of", "RTX 1234=5"}, "RTX 1234");
  refused({"--what-would-help", "--strategy", "all"}, "--strategy");
}

TEST_CASE("--what-would-help answers in words, JSON and CSV with the same changes") {
  const TemporaryFolder folder;
  const Arguments asked = with(kFit, {"--what-would-help", "--price-of", "ram=3"});
  const ChildEnd text = plimsoll_in(folder, asked);
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Contains("speed-up") && Contains("time only"));
  const json answer = json::parse(plimsoll_in(folder, with(asked, {"--json"})).out);
  CHECK(answer["today"]["verdict"] == "fits");
  const std::string csv = plimsoll_in(folder, with(asked, {"--csv"})).out;
  CHECK(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')) == answer["changes"].size() + 1);
  for (const json& change : answer["changes"]) {
    if (change["helps"]) CHECK((change["makes_it_fit"] || change["speed_up"] >= 1.01));
  }
}

TEST_CASE("every table of fit has its CSV: stages, strategies, memories, layouts and ranks") {
  const TemporaryFolder folder;
  const auto first_line = [&](const Arguments& line) {
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(end.err);
    CHECK(end.code == 0);
    CHECK(std::count(end.out.begin(), end.out.end(), '\n') > 1);
    return end.out.substr(0, end.out.find(','));
  };
  CHECK(first_line(with(kFit, {"--tokens", "1B", "--csv"})) == "stage");
  CHECK(first_line(with(kFit, {"--csv"})) == "space");
  CHECK(first_line(with(kFit, {"--strategy", "all", "--csv"})) == "strategy");
  const Arguments layout{"gpt:layers=4,hidden=256,heads=4,vocab=512,positions=64", "--on", "A100 80GB SXM4", "--gpus", "4"};
  CHECK(first_line(with(with({"fit"}, layout), {"--csv"})) == "dp");
  CHECK(first_line(with(with({"simulate"}, layout), {"--csv"})) == "rank");
  CHECK(first_line(with(with({"sweep"}, layout), {"--vary", "tp=1,2", "--csv"})) == "dp");
  CHECK(first_line({"models", "--csv"}) == "model");
  CHECK(first_line({"machines", "--csv"}) == "gpu");
}

TEST_CASE("a table goes to a file with -o, and replaces nothing but a table of its kind") {
  const TemporaryFolder folder;
  const Arguments asked{"headlines", "bubble-4d", "--csv", "-o", "claims.csv"};
  const ChildEnd written = plimsoll_in(folder, asked);
  CHECK(written.code == 0);
  CHECK(written.out.empty());
  CHECK(plimsoll_in(folder, asked).code == 0);
  const ChildEnd other = plimsoll_in(folder, {"headlines", "bubble-4d", "--json", "-o", "claims.csv"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Contains("claims.csv"));
  CHECK(plimsoll_in(folder, {"headlines", "bubble-4d", "-o", "nowhere/claims.csv"}).code == 4);
}

TEST_CASE("tensor ranks stand in squares and cubes, and a way that is none is refused") {
  const TemporaryFolder folder;
  const Arguments asked{"simulate",      "gpt:layers=4,hidden=256,heads=4,vocab=512,positions=64",
                        "--on",          "A100 80GB SXM4",
                        "--gpus",        "4",
                        "--tp",          "4",
                        "--micro-batch", "4"};
  const json answer = json::parse(plimsoll_in(folder, with(asked, {"--tensor-layout", "2d", "--json"})).out);
  CHECK(answer["parallel"]["tensor_layout"] == "2D");
  for (const char* none : {"4d", "2.5d", "2.5d:x", "2d:3", "2.5d:3"}) {
    const ChildEnd refused = plimsoll_in(folder, with(asked, {"--tensor-layout", none}));
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Contains("--tensor-layout"));
  }
}

TEST_CASE("a gate for groups of experts is asked for by name, and groups that are none are refused") {
  const TemporaryFolder folder;
  const Arguments asked{"simulate", "gpt:layers=4,hidden=256,heads=4,vocab=512,positions=64,experts=16,top-k=2",
                        "--on",     "A100 80GB SXM4",
                        "--gpus",   "16",
                        "--ep",     "16"};
  const ChildEnd two = plimsoll_in(folder, with(asked, {"--gating", "two-level:2/1"}));
  CHECK(two.code == 0);
  CHECK_THAT(two.out, Contains("experts in 2 groups of 8: a token goes to 1 of the groups, then to 2 experts of each"));
  CHECK_THAT(plimsoll_in(folder, with(asked, {"--gating", "one-level"})).out, !Contains("groups of 8"));
  for (const char* none : {"two", "two-level", "two-level:", "two-level:2", "two-level:/1", "two-level:2/x", "two-level:2/3",
                           "two-level:3/1", "two-level:-2/1", "two-level:99999999999999999999/1"}) {
    const ChildEnd refused = plimsoll_in(folder, with(asked, {"--gating", none}));
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Contains("--gating"));
  }
}

TEST_CASE("largest says where each strategy ends, as a table, JSON, CSV and a chart") {
  const TemporaryFolder folder;
  const Arguments asked{"largest", kTinyModel, "--on",  "RTX 2060 6GB", "--device-memory",   "64MiB",  "--seq",
                        "32",      "--what",   "batch", "--strategies", "resident,plimsoll", "--most", "512"};
  const ChildEnd text = plimsoll_in(folder, with(asked, {"--svg", "chart.svg"}));
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Contains("resident") && Contains("sequences"));
  CHECK(std::filesystem::exists(folder.file("chart.svg")));
  const json answer = json::parse(plimsoll_in(folder, with(asked, {"--json"})).out);
  CHECK(answer["largest"][1]["largest"] >= answer["largest"][0]["largest"]);
  CHECK_THAT(plimsoll_in(folder, with(asked, {"--csv"})).out, Contains("largest_sequences"));
  CHECK(plimsoll_in(folder, with(asked, {"--strategy", "stream"})).code == 2);
}

TEST_CASE("largest of another program tells it as it was asked for, how far it is certain, and what --most says in tokens") {
  const TemporaryFolder folder;
  const Arguments training{"llama3.2-1b", "--on", "RTX 2060 6GB", "--ram", "16GiB", "--lora", "16", "--stack", "pytorch", "--fused-head"};
  const Arguments asked = with(with({"largest"}, training), {"--what", "sequence"});
  const ChildEnd text = plimsoll_in(folder, asked);
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Contains("as-said-recompute") && Contains("plimsoll") && Contains("certain up to "));
  CHECK_THAT(text.out, Contains("as-said is pytorch: huggingface modules") && !Contains("sequence length 1024"));
  const json answer = json::parse(plimsoll_in(folder, with(asked, {"--json"})).out);
  const std::int64_t found = answer["largest"][0]["largest"], certain = answer["largest"][0]["largest_certain"];
  CHECK(certain < found);
  CHECK(json::parse(plimsoll_in(folder, with(asked, {"--json", "--most", "256"})).out)["largest"][0]["largest"] == 256);
  // What fit says of it.
  const auto fit = [&](std::int64_t tokens) {
    return plimsoll_in(folder, with(with({"fit"}, training), {"--seq", std::to_string(tokens)})).out;
  };
  CHECK_THAT(fit(certain), Contains("FITS") && Contains("; certain"));
  CHECK_THAT(fit(certain + 64), !Contains("; certain"));
  CHECK_THAT(fit(found), Contains("FITS"));
}

TEST_CASE("largest counts pairs and images, and refuses where nothing that is compared can train it") {
  const TemporaryFolder folder;
  const Arguments pairs{"largest", "gpt2", "--on", "RTX 2060 6GB", "--what", "batch", "--seq", "128", "--stack", "pytorch", "--workload", "dpo"};
  CHECK_THAT(plimsoll_in(folder, pairs).out, Contains(" pairs") && Contains("left out: plimsoll"));
  CHECK_THAT(plimsoll_in(folder, {"largest", "resnet50", "--on", "RTX 2060 6GB", "--what", "batch", "--stack", "pytorch"}).out, Contains(" images"));
  const ChildEnd none = plimsoll_in(folder, {"largest", "gpt2", "--on", "8x A100 80GB SXM4", "--what", "batch", "--stack", "megatron", "--tp", "8"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Contains("nothing that is compared can train it so: ") && Contains("do not divide by 8 tensor ranks"));
}

TEST_CASE("curve prices every size of a family, the smallest first") {
  const TemporaryFolder folder;
  const Arguments asked{"curve",
                        kTinyModel,
                        "gpt:layers=3,hidden=32,heads=4,vocab=256,positions=32",
                        "--on",
                        "RTX 2060 6GB",
                        "--tokens",
                        "chinchilla",
                        "--price",
                        "1",
                        "--seq",
                        "32"};
  const json answer = json::parse(plimsoll_in(folder, with(asked, {"--json"})).out);
  REQUIRE(answer.size() == 2);
  CHECK(answer[0]["parameters"] < answer[1]["parameters"]);
  CHECK(answer[0]["training"]["seconds"] < answer[1]["training"]["seconds"]);
  CHECK_THAT(plimsoll_in(folder, with(asked, {"--csv"})).out, Contains("seconds_low"));
  CHECK_THAT(plimsoll_in(folder, with(asked, {"--svg", "curve.svg"})).out, Contains("parameters"));
  CHECK(std::filesystem::exists(folder.file("curve.svg")));
  CHECK(plimsoll_in(folder, {"curve", "--family", "gpt2", "--on", "RTX 2060 6GB"}).code == 2);
  CHECK(plimsoll_in(folder, {"curve", "--family", "gtp2", "--on", "RTX 2060 6GB", "--tokens", "1B"}).code == 2);
}

TEST_CASE("a headline is answered by the command that it prints, and an unknown one is refused") {
  const TemporaryFolder folder;
  const json answer = json::parse(plimsoll_in(folder, {"headlines", "bubble-interleaved", "fold-tpu", "--json"}).out);
  REQUIRE(answer.size() == 2);
  // 7/16 of the ideal time against 7/(4·16): a quarter.
  CHECK(answer[0]["ours"].get<double>() == Approx(4).epsilon(1e-6));
  CHECK(answer[1]["ours"].is_null());
  CHECK(plimsoll_in(folder, {"headlines", "bubbel"}).code == 2);
}

}  // namespace plimsoll::test
