#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

using namespace plimsoll::test;

namespace {

const std::string kRows =
    "system,model,params,layers,hidden,heads,kv_heads,ffn,vocab,seq,micro_batch,precision,optimizer,checkpointing,zero_stage,"
    "offload,n_gpu,gpu,metric,value,unit,source,flag,notes\n"
    "HF Trainer,bert-large-uncased,,24,1024,16,16,4096,30522,512,4,fp32,AdamW,none,0,none,1,V100-16GB,nvidia_smi,14949,MiB,x,,\n"
    "HF Trainer,no such model,,,,,,,,512,4,fp32,AdamW,none,0,none,1,V100-16GB,nvidia_smi,14949,MiB,x,,\n";

}  // namespace

TEST_CASE("validate takes files of published rows from anywhere and says which rows it cannot state") {
  const plimsoll::TemporaryFolder folder;
  write_file(folder.file("rows"), kRows);
  const auto end = plimsoll_in(folder, {"validate", "rows"});
  CHECK(end.code == 0);
  CHECK(end.out.find("2 published rows: 1 can be stated, 1 of them are fully specified") != std::string::npos);
  CHECK(end.out.find("rows:3  unknown model: no such model") != std::string::npos);
  CHECK(end.out.find("memory of the process") != std::string::npos);
  CHECK(end.out.find("LoHan") == std::string::npos);  // a target that no row of these is of
  const auto csv = plimsoll_in(folder, {"validate", "rows", "--csv"});
  CHECK(csv.out.find("unknown model: no such model") != std::string::npos);
  CHECK(plimsoll_in(folder, {"validate", "rows", "--json"}).out.find("{\"format_version\":1,\"rows\":2,") == 0);
}

TEST_CASE("a damaged file of rows, an unknown family and an unknown measure are refused with the place and the names that exist") {
  const plimsoll::TemporaryFolder folder;
  write_file(folder.file("rows.csv"), kRows + "HF Trainer,bert\n");
  const auto damaged = plimsoll_in(folder, {"validate", "rows.csv"});
  CHECK(damaged.code == 2);
  CHECK(damaged.err.find("rows.csv:4") != std::string::npos);
  write_file(folder.file("other.csv"), "a,b\n1,2\n");
  write_file(folder.file("none.csv"), kRows.substr(0, kRows.find('\n') + 1));
  const auto none = plimsoll_in(folder, {"validate", "none.csv"});
  CHECK(none.code == 2);
  CHECK(none.err.find("none.csv: a header without rows") != std::string::npos);
  CHECK(plimsoll_in(folder, {"validate", "other.csv"}).err.find("the header is not one of published rows") != std::string::npos);
  CHECK(plimsoll_in(folder, {"validate", "--family", "nobody"}).code == 2);
  const auto metric = plimsoll_in(folder, {"validate", "--metric", "bytes"});
  CHECK(metric.code == 2);
  CHECK(metric.err.find("allocated, reserved, process, device, host, fits, step") != std::string::npos);
  CHECK(plimsoll_in(folder, {"validate", "missing.csv"}).code == 2);
}

TEST_CASE("a run's report names no host, user, path or command, and validate accepts it") {
  const plimsoll::TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, tiny_run("4")).code == 0);
  const auto report = plimsoll_in(folder, {"report", "run.plimsoll"});
  CHECK(report.code == 0);
  CHECK(report.out.find("iteration time,") != std::string::npos);
  CHECK(report.out.find("peak_reserved,") != std::string::npos);
  CHECK(report.out.find(",2,32,4,4,128,256,") != std::string::npos);
  for (const std::string& told : {std::string("run.plimsoll"), std::string("/"), std::string("--steps"), folder.path()}) {
    INFO(told);
    CHECK(report.out.find(told) == std::string::npos);
  }
  CHECK(plimsoll_in(folder, {"report", "run.plimsoll", "-o", "rows.csv"}).code == 0);
  CHECK(read_whole(folder.file("rows.csv")) == report.out);
  const auto end = plimsoll_in(folder, {"validate", "rows.csv"});
  INFO(end.out << end.err);
  CHECK(end.code == 0);
  CHECK(end.out.find("published rows") != std::string::npos);
  CHECK(plimsoll_in(folder, {"report", "rows.csv"}).code == 2);
  CHECK(plimsoll_in(folder, {"report", "run.plimsoll", "--json"}).out.find("[{\"system\":\"plimsoll ") == 0);
}

TEST_CASE("rows of a run on a GPU carry plan and machine, so that its memory is told to the byte and its step by that very plan") {
  const plimsoll::TemporaryFolder folder;
  for (const char* run : {"/gpt2-stream", "/gpt2-xl/5.4gib-ram32", "/llama3-8b/24gib-device-update", "/llama3-8b/24gib-ssd"}) {
    INFO(run);
    const auto report = plimsoll_in(folder, {"report", std::string(PLIMSOLL_MEASURED "/h100-sxm5") + run + ".plimsoll"});
    REQUIRE(report.code == 0);
    write_file(folder.file("rows.csv"), report.out);
    const auto told = nlohmann::json::parse(plimsoll_in(folder, {"validate", "rows.csv", "--json"}).out)["worst"];
    REQUIRE(told.size() == 2);
    for (const auto& row : told) {
      INFO(row.dump());
      CHECK(std::abs(row["error"].get<double>()) < (row["measure"] == "reserved" ? 1e-9 : 0.35));  // the drive of one was a virtual machine's
    }
  }
}

TEST_CASE("rows of a run on the CPU are refused for that, and a row whose plan is broken for that") {
  const plimsoll::TemporaryFolder folder;
  REQUIRE(plimsoll_in(folder, tiny_run("4")).code == 0);
  const auto report = plimsoll_in(folder, {"report", "run.plimsoll"});
  write_file(folder.file("cpu.csv"), report.out);
  CHECK(plimsoll_in(folder, {"validate", "cpu.csv"}).out.find("cpu.csv:2  a CPU stood in for the GPU: no catalogue has its rates") != std::string::npos);
  auto rows = plimsoll_in(folder, {"report", PLIMSOLL_MEASURED "/h100-sxm5/gpt2-stream.plimsoll"}).out;
  for (std::size_t at = 0; (at = rows.find("loop_order", at)) != std::string::npos; at += 1) rows.replace(at, 10, "loop_hoard");
  write_file(folder.file("broken.csv"), rows);
  CHECK(plimsoll_in(folder, {"validate", "broken.csv"}).out.find("broken.csv:2  unreadable plan") != std::string::npos);
}

TEST_CASE("notes of a contributed row say plan and machine and nothing else, and odd ones are refused with what is odd") {
  const plimsoll::TemporaryFolder folder;
  const std::string rows = plimsoll_in(folder, {"report", PLIMSOLL_MEASURED "/h100-sxm5/gpt2-stream.plimsoll"}).out;
  const auto told = [&](const std::string& from, const std::string& to) {
    std::string changed = rows;
    for (std::size_t at = 0; (at = changed.find(from, at)) != std::string::npos; at += to.size()) changed.replace(at, from.size(), to);
    write_file(folder.file("rows.csv"), changed);
    const auto end = plimsoll_in(folder, {"validate", "rows.csv", "--csv"});
    INFO(to);
    CHECK(end.code == 0);
    return end.out;
  };
  const std::string plain = told("accumulate 1", "accumulate 1");
  for (const char* ignored : {"stages 0; chunk_layers 1", "model llama3-8b", "stack pytorch; zero 3; context_ranks 0", "family evil", "measure fits", "tensor_ranks 0"})
    CHECK(told("accumulate 1", std::string("accumulate 1; ") + ignored) == plain);
  CHECK(told("accumulate 1", "accumulate 1; cores 16; cores 8").find("contradictory notes: 'cores' twice") != std::string::npos);
  CHECK(told("cores 16", "cores 4294967312").find("unreadable fact: cores is '4294967312'") != std::string::npos);
  CHECK(told("host_memory ", "host_memory 99").find("unreadable fact: host_memory") == std::string::npos);
  CHECK(told("host_memory ", "host_memory 99999999999").find("unreadable fact: host_memory") != std::string::npos);
  CHECK(told("; plan {", "; plans {").find("plan") != std::string::npos);
  CHECK(told("staging_slots", "slots").find("unreadable plan: it lacks staging_slots") != std::string::npos);
}

TEST_CASE("the page of results begins with what is missed, and a stored accuracy that is broken is refused") {
  const plimsoll::TemporaryFolder folder;
  write_file(folder.file("rows.csv"), kRows);
  const auto page = plimsoll_in(folder, {"validate", "rows.csv", "--markdown"});
  CHECK(page.code == 0);
  CHECK(page.out.find("# Results") == 0);
  CHECK(page.out.find("## Missed") < page.out.find("## Reached"));
  write_file(folder.file("runs.json"), "{\"summary\": 3}");
  const auto broken = plimsoll_in(folder, {"validate", "rows.csv", "--markdown", "--runs", "runs.json"});
  CHECK(broken.code == 2);
  CHECK(broken.err.find("runs.json") != std::string::npos);
  CHECK(plimsoll_in(folder, {"validate", "rows.csv", "--cross"}).code == 0);
}

TEST_CASE("runs of a GPU stand on the page of results, foretold beside measured; a folder without any is refused") {
  const plimsoll::TemporaryFolder folder;
  write_file(folder.file("rows.csv"), kRows);
  const auto page = plimsoll_in(folder, {"validate", "rows.csv", "--markdown", "--recorded", PLIMSOLL_MEASURED "/h100-sxm5"});
  CHECK(page.code == 0);
  CHECK(page.out.find("| gpt2-stream | stream | 22.20 ms | 21.95 ms | +1.1 % |") != std::string::npos);
  CHECK(page.out.find("mean error of the step time 2.9 %, worst 9.1 %") != std::string::npos);
  CHECK(page.out.find("| llama3-8b/24gib-ssd | stream-ssd | 14150.98 ms | 12967.94 ms | +9.1 % |") != std::string::npos);
  CHECK(page.out.find("| llama3-8b/24gib-ram | stream | | | this plan's own samples fed the model") != std::string::npos);
  const auto empty = plimsoll_in(folder, {"validate", "rows.csv", "--markdown", "--recorded", folder.path()});
  CHECK(empty.code == 2);
  CHECK(empty.err.find("no run file is in it") != std::string::npos);
}
