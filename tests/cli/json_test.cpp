#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace plimsoll::test {
namespace {

using nlohmann::json;

/// The answer, which must be JSON and nothing but JSON, with at least these keys ("a/b": b in a).
json answer_of(const ChildEnd& end, const std::vector<const char*>& keys) {
  INFO(end.out << end.err);
  const json answer = json::parse(end.out, nullptr, false);
  REQUIRE_FALSE(answer.is_discarded());
  for (const char* key : keys) {
    INFO(key);
    CHECK(answer.contains(json::json_pointer(std::string("/") + key)));
  }
  return answer;
}

const std::vector<const char*> kFitKeys{"format_version",
                                        "verdict",
                                        "model/name",
                                        "model/parameters",
                                        "strategy/name",
                                        "stack",
                                        "step_seconds",
                                        "step_seconds_low",
                                        "step_seconds_high",
                                        "tokens_per_second",
                                        "samples_per_second",
                                        "model_tflops_per_gpu",
                                        "hardware_tflops_per_gpu",
                                        "bubble_fraction",
                                        "phases/forward_seconds",
                                        "phases/backward_seconds",
                                        "phases/optimizer_seconds",
                                        "phases/exposed_transfer_seconds",
                                        "phases/exposed_communication_seconds",
                                        "memory/0/space",
                                        "memory/0/capacity_bytes",
                                        "memory/0/usable_bytes",
                                        "memory/0/margin_bytes",
                                        "memory/0/certain",
                                        "memory/0/peak_bytes",
                                        "memory/0/peak_allocated_bytes",
                                        "memory/0/peak_reserved_bytes",
                                        "memory/0/peak_process_bytes",
                                        "memory/0/by_category/parameters",
                                        "memory/0/by_category/gradients",
                                        "memory/0/by_category/optimizer",
                                        "memory/0/by_category/activations",
                                        "memory/0/by_category/workspace",
                                        "memory/0/by_category/framework",
                                        "bottleneck/resource",
                                        "bottleneck/busy_fraction",
                                        "calibration/kind",
                                        "calibration/source",
                                        "lower_bound/step_seconds",
                                        "lower_bound/peak_bytes",
                                        "alternatives",
                                        "training"};

}  // namespace

TEST_CASE("fit, plan and simulate answer with every key of the contract") {
  const TemporaryFolder folder;
  const json fits =
      answer_of(plimsoll_in(folder, {"fit", "gpt2", "--on", "RTX 2060 6GB", "--ram", "32GiB", "--json"}), kFitKeys);
  CHECK(fits["verdict"] == "fits");
  CHECK_THAT(fits["assumed"].dump(), Catch::Contains("6 CPU cores assumed") && Catch::Contains("sequence length 1024"));
  const ChildEnd no = plimsoll_in(folder, {"fit", "gpt2-xl", "--on", "RTX 2060 6GB", "--ram", "8GiB", "--json"});
  CHECK(no.code == 3);
  CHECK(answer_of(no, kFitKeys)["verdict"] == "does_not_fit");
  const json all = answer_of(
      plimsoll_in(folder, {"fit", "gpt2", "--on", "RTX 2060 6GB", "--strategy", "all", "--json"}), {"0/verdict"});
  CHECK(all.is_array());
  const Arguments plan{"plan", kTinyModel, "--device-memory", "16MiB", "--ram", "64MiB", "-o", "plan.json", "--json"};
  const json planned = answer_of(plimsoll_in(folder, plan), kFitKeys);
  const json simulated = answer_of(plimsoll_in(folder, {"simulate", "plan.json", "--json"}), kFitKeys);
  CHECK(planned["step_seconds"] == simulated["step_seconds"]);
}

TEST_CASE("fit gives every optimizer the memory of the states that it keeps, and the bytes' time") {
  const TemporaryFolder folder;
  const auto fit = [&](const char* optimizer) {
    const Arguments line{"fit", "gpt:layers=2,hidden=256,heads=4,vocab=1000", "--on", "RTX 3090", "--precision", "fp32",
                         "--strategy", "resident", "--optimizer", optimizer, "--json"};
    return answer_of(plimsoll_in(folder, line), kFitKeys);
  };
  const auto bytes_a_parameter = [&](const json& answer) {
    return answer["memory"][0]["by_category"]["optimizer"].get<double>() / answer["model"]["parameters"].get<double>();
  };
  const double adamw = fit("adamw")["phases"]["optimizer_seconds"];
  for (const auto& [optimizer, bytes] : {std::pair("sgd", 0.0), std::pair("momentum", 4.0), std::pair("lion", 4.0),
                                         std::pair("adam", 8.0), std::pair("lamb", 8.0)}) {
    CAPTURE(optimizer);
    CHECK(bytes_a_parameter(fit(optimizer)) == Approx(bytes).epsilon(0.001));
  }
  CHECK(bytes_a_parameter(fit("adam8bit")) == Approx(2 + 1.0 / 32).epsilon(0.02));  // norms and biases keep 32 bits
  for (const char* factored : {"adafactor", "sm3"}) CHECK(bytes_a_parameter(fit(factored)) < 0.1);
  CHECK(fit("sgd")["phases"]["optimizer_seconds"].get<double>() < adamw);
  CHECK(fit("lamb")["phases"]["optimizer_seconds"].get<double>() > adamw);
}

TEST_CASE("run and compare answer with every key of the contract, and losses keep all their bits") {
  const TemporaryFolder folder;
  // A plan whose layout is not the warm-up's, whatever was measured: there is a move to tell about.
  const json run = answer_of(plimsoll_in(folder, tiny_run("6", {"--json", "--strategy", "resident"})),
                             {"steps", "losses", "step_seconds_median", "predicted_step_seconds", "tokens_per_second",
                              "memory/0/space", "memory/0/predicted_bytes", "memory/0/measured_bytes",
                              "migration/after_steps", "migration/moved_bytes", "migration/predicted_seconds",
                              "migration/measured_seconds", "file"});
  CHECK(run["steps"] == 6);
  CHECK(run["migration"]["after_steps"] == 3);
  CHECK(run["losses"].size() == 6);
  CHECK(run["file"] == "run.plimsoll");
  const json compared =
      answer_of(plimsoll_in(folder, {"compare", "run.plimsoll", "--json"}),
                {"step/predicted_seconds", "step/measured_seconds", "step/error", "step/parts/0", "memory/0/space",
                 "memory/0/predicted_bytes", "memory/0/measured_bytes", "matched_fraction"});
  CHECK(compared["memory"] == run["memory"]);
  const json& process = run["memory"].back();
  CHECK(process["space"] == "process");
  CHECK(process["by_category"].size() == 3);
  CHECK(process["predicted_bytes"].get<std::int64_t>() > 0);
  const json shown =
      answer_of(plimsoll_in(folder, {"show", "run.plimsoll", "--json"}), {"finished", "plans/0", "traces/2/losses"});
  json losses = json::array();
  for (const json& trace : shown["traces"]) {
    if (trace["name"] == "migration") continue;  // which is a step of its own kind, without a loss
    for (const json& loss : trace["losses"]) losses.push_back(loss);
  }
  CHECK(losses == run["losses"]);
  CHECK_THAT(plimsoll_in(folder, {"show", "run.plimsoll"}).out, Catch::Contains("moves the state to another layout in "));
  CHECK_THAT(shown["command"].get<std::string>(), Catch::Contains("--steps 6"));
}

TEST_CASE("whatever lists or examines answers in JSON too") {
  const TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, tiny_run("3")).code == 0);
  answer_of(plimsoll_in(folder, {"machines", "--json"}), {"0/name", "0/memory_bytes", "0/source"});
  answer_of(plimsoll_in(folder, {"models", "--json"}), {"0/name", "0/parameters"});
  answer_of(plimsoll_in(folder, {"doctor", "--json"}),
            {"cpu/model", "memory/available_bytes", "products/library", "cuda"});
  answer_of(plimsoll_in(folder, {"calibrate", "run.plimsoll", "--json"}),
            {"source", "samples", "costs/0/expected_seconds"});
}

TEST_CASE("a training that diverges ends and says so; one that is to go on answers in JSON with null losses") {
  const TemporaryFolder other;
  const ChildEnd stopped = plimsoll_in(other, tiny_run("4", {"--lr", "1e30", "--clip", "0", "--json"}));
  CHECK(stopped.code == 3);
  CHECK_THAT(stopped.err, Catch::Contains("went astray") && Catch::Contains("--on-nan ignore") && !Catch::Contains("of -nan"));
  CHECK(plimsoll_in(other, {"show", "run.plimsoll"}).code == 0);
  const TemporaryFolder folder;
  const ChildEnd end = plimsoll_in(folder, tiny_run("4", {"--lr", "1e30", "--clip", "0", "--json", "--on-nan", "ignore"}));
  INFO(end.err);
  CHECK(end.code == 0);
  const json run = answer_of(end, {"losses"});
  CHECK(run["losses"][0].is_number());
  CHECK(run["losses"][3].is_null());
  CHECK(plimsoll_in(folder, {"show", "run.plimsoll"}).code == 0);
}

TEST_CASE("schedule answers with every key of the contract, and reads and times its own orders alike") {
  const TemporaryFolder folder;
  const Arguments named{"schedule", "v-half", "--stages", "4", "--micro-batches", "8", "--costs", "1,1,1,0.1", "--json"};
  Arguments writes = named;
  writes.insert(writes.end(), {"--csv", "orders.csv", "--svg", "picture.svg"});
  const ChildEnd end = plimsoll_in(folder, writes);
  json answer = answer_of(end, {"orders/3/0", "makespan", "bubble_fraction", "bubble_rate", "peak_activations/3",
                                "weight_versions/3"});
  CHECK(answer["orders"][3][1] == "4F0");
  CHECK(answer["makespan"].get<double>() <= 28.7);  // another maker's orders of V-Half take that (unit_cost_golden.csv)
  CHECK(answer["peak_activations"] == json({3, 3, 3, 3}));
  CHECK(answer["weight_versions"] == json({1, 1, 1, 1}));
  CHECK_THAT(read_whole(folder.file("picture.svg")), Catch::StartsWith("<svg") && Catch::EndsWith("</svg>\n"));
  write_file(folder.file("orders.json"), end.out);
  for (const char* file : {"orders.csv", "orders.json"}) {
    const ChildEnd again = plimsoll_in(folder, {"schedule", "--file", file, "--costs", "1,1,1,0.1", "--json"});
    json same = answer_of(again, {"name"});
    same["name"] = answer["name"];
    CHECK(same == answer);
  }
}

TEST_CASE("uneven stages are timed by a file of their own costs") {
  const TemporaryFolder folder;
  // Stage 1 takes twice as long: rank 0 F 0-1, rank 1 F 1-3, B 3-7, rank 0 B 7-9, with a hop of 0.5 each way: 10.
  write_file(folder.file("costs.csv"), "stage,forward,input_gradient,weight_gradient,hop\n1,2,2,2,0\n0,1,1,1,0.5\n");
  const ChildEnd end = plimsoll_in(folder, {"schedule", "gpipe", "--stages", "2", "--micro-batches", "1", "--costs",
                                            "costs.csv", "--json"});
  CHECK(answer_of(end, {})["makespan"] == 10.0);
}

TEST_CASE("the names of schedules are JSON where it is asked for") {
  const TemporaryFolder folder;
  const json names = answer_of(plimsoll_in(folder, {"schedule", "--list", "--json"}), {"0/name", "0/about"});
  CHECK(names.size() > 5);
}

TEST_CASE("a schedule beyond the cap is answered with the reason for its exit code") {
  const TemporaryFolder folder;
  // 1F1B on 4 ranks: the first one begins 4 micro-batches before the first comes back.
  Arguments line{"schedule", "1f1b", "--stages", "4", "--micro-batches", "8", "--json", "--memory-cap", "2"};
  const ChildEnd over = plimsoll_in(folder, line);
  CHECK(over.code == 3);
  const json answer = answer_of(over, {"orders/3/0", "peak_activations/3", "error/remedy"});
  CHECK(answer["error"]["kind"] == "infeasible");
  CHECK(answer["error"]["what"] == "a rank holds activations of 4 micro-batches");
  CHECK(answer["error"]["where"] == "--memory-cap 2");
  CHECK(answer["error"]["exit_code"] == 3);
  line.back() = "4";
  const ChildEnd within = plimsoll_in(folder, line);
  CHECK(within.code == 0);
  CHECK_FALSE(answer_of(within, {"orders"}).contains("error"));
}

TEST_CASE("a line that cannot be read is answered in JSON wherever --json stands, and not where it is another program's") {
  const TemporaryFolder folder;
  const std::vector<Arguments> lines{
      {"--json"}, {"no-such-command", "--json"}, {"--json", "fit"}, {"merge", "--json"}, {"completion", "none", "--json"}};
  for (const Arguments& line : lines) {
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(line.front());
    CHECK(end.code == 2);
    const json error = answer_of(end, {"error/what"})["error"];
    CHECK(error["kind"] == "input");
    CHECK(error["exit_code"] == 2);
    CHECK_THAT(end.err, Catch::Contains(error["what"].get<std::string>()));
  }
  for (const Arguments& line : {Arguments{}, {"profile", "--no-such-option", "--", "program", "--json"}}) {
    const ChildEnd end = plimsoll_in(folder, line);
    CHECK(end.code == 2);
    CHECK(end.out.empty());
  }
}

TEST_CASE("a run that a note about the model refuses names its config.json in JSON") {
  const TemporaryFolder folder;
  write_file(folder.file("config.json"),
             R"({"model_type": "mistral", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
                 "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 16, "sliding_window": null,
                 "layer_types": ["chunked_attention"]})");
  const ChildEnd end = plimsoll_in(folder, {"run", "config.json", "--data", kText, "--init", "none", "--device-memory", "16MiB",
                                            "--ram", "64MiB", "--json"});
  CHECK(end.code == 2);
  CHECK(answer_of(end, {"error/what"})["error"]["where"] == "config.json");
  CHECK_THAT(end.err, Catch::Contains("config.json: "));
}

namespace {

struct Refusal {
  Arguments line;
  int code = 2;
  const char* kind = "input";
};

/// Of 1 GiB of RAM the operating system alone takes more; commands about files know no machine.
const std::vector<Refusal>& refusals() {
  static const std::vector<Refusal> all{
    {{"fit", "gpt2"}, 3, "infeasible"},
    {{"plan", "gpt2"}, 3, "infeasible"},
    {{"largest", "gpt2"}, 3, "infeasible"},
    {{"fit", "gpt2", "--no-such-option"}},
    {{"fit", "no-such-model"}, 2, "unknown_name"},
    {{"export", "no-such-model", "--to", "deepspeed"}, 2, "unknown_name"},
    {{"generate", "no-such-model"}, 2, nullptr},
    {{"sweep", "gpt2"}},
    {{"recompute", "none.json"}},
    {{"tokenize", "none.txt"}},
    {{"simulate", "none.json"}},
    {{"import", "none.json"}},
    {{"replay", "none.json"}},
    {{"show", "none.json"}},
    {{"validate", "none.csv"}},
    {{"compare", "none.plimsoll"}},
    {{"calibrate", "none.plimsoll"}},
    {{"report", "none.plimsoll"}},
    {{"pack", "none.csv"}},
    {{"merge", "no-such-model", "none", "-o", "out"}, 2, nullptr},
    {{"partition", "none.csv"}},
    {{"schedule", "no-such-order", "--stages", "2", "--micro-batches", "2"}, 2, nullptr},
    {{"headlines", "none"}, 2, nullptr},
    {{"run", "no-such-model", "--data", "none"}, 2, nullptr},
    {{"run", "gpt2", "--data", "none", "--tp", "3"}, 2, nullptr}};
  return all;
}

}  // namespace

TEST_CASE("whatever refuses says so in JSON too, with the kind of the trouble and the code that it ends with") {
  const TemporaryFolder folder;
  for (const Refusal& one : refusals()) {
    Arguments line = one.line;
    if (one.kind == nullptr || one.line.at(1).find('.') != std::string::npos) line.push_back("--json");
    else line.insert(line.end(), {"--on", "RTX 3090", "--ram", "1GiB", "--json"});
    const ChildEnd end = plimsoll_in(folder, line);
    INFO(one.line.front() << " " << one.line.at(1) << ": " << end.out << end.err);
    CHECK(end.code == one.code);
    const json answer = answer_of(end, {"format_version", "error/what", "error/where", "error/remedy"});
    if (one.kind != nullptr) CHECK(answer["error"]["kind"] == one.kind);
    CHECK(answer["error"]["exit_code"] == end.code);
    CHECK_THAT(end.err, Catch::Contains(answer["error"]["what"].get<std::string>()));
  }
}

}  // namespace plimsoll::test
