// A minute of changed traces for every build: seeds are a small trace of each form, changes are drawn with a fixed seed.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "formats/runs/database.h"
#include "tests/fuzz/read_trace_bytes.h"
#include "tests/support/temporary_folder.h"

namespace {

using namespace plimsoll;

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string small_json() {
  return R"x({"schemaVersion":1,"deviceProperties":[{"id":0,"name":"GPU","totalGlobalMem":1}],"baseTimeNanoseconds":5,"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":10,"tid":11,"ts":1000.5,"dur":4,"args":{"correlation":9}},
{"ph":"X","cat":"kernel","name":"k\u00e9","pid":0,"tid":7,"ts":1006.25,"dur":2.5,"args":{"device":0,"stream":7,"correlation":9,"grid":[1,2,3]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaStreamWaitEvent","pid":10,"tid":11,"ts":1007,"dur":1,"args":{"correlation":10}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pinned -> Device)","pid":0,"tid":8,"ts":1010,"dur":3,"args":{"stream":8,"bytes":64,"correlation":12}},
{"ph":"i","cat":"cpu_instant_event","name":"[memory]","ts":1011,"pid":1,"tid":1,"args":{"Device Type":1,"Bytes":-1,"Total Reserved":NaN}},
{"ph":"B","name":"r","pid":1,"tid":1,"ts":1},{"ph":"E","pid":1,"tid":1,"ts":"2"},
{"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","ts":1008,"dur":1,"pid":0,"tid":8,"args":{"wait_on_stream":7,"stream":8,"correlation":10}},
{"ph":"M","name":"thread_name","pid":10,"tid":11,"args":{"name":"main"}}]})x";
}

std::string small_database(const TemporaryFolder& folder) {
  const std::string path = folder.file("seed.sqlite");
  Database(path, Database::Mode::kCreate).run(R"(
CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, "end", streamId, correlationId, shortName, gridX);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 7, 5, 1, 3), (20, 40, 8, 6, 1, 3);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, "end", correlationId, nameId, globalTid);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 5, 5, 2, 77), (6, 9, 6, 2, 77);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, bytes, memoryOperationType); INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 2, 0);)");
  return file_bytes(path);
}

std::string changed(std::string text, std::mt19937_64& random) {
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random() % std::max<std::size_t>(below, 1)); };
  static const std::vector<std::string> kWords{"{",
                                               "}",
                                               "[",
                                               "]",
                                               "\"",
                                               ",",
                                               ":",
                                               "NaN",
                                               "-9223372036854775808",
                                               "18446744073709551615",
                                               "1e999",
                                               "\\ud800",
                                               "\\",
                                               "-",
                                               "0.0000005",
                                               "null",
                                               std::string(70, '['),
                                               std::string(1, '\0')};
  for (std::size_t changes = 1 + draw(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = draw(text.size());
    switch (draw(6)) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, 1 + draw(64)); break;
      case 2: text.insert(at, kWords[draw(kWords.size())]); break;
      case 3: text.replace(at, 1 + draw(16), kWords[draw(kWords.size())]); break;
      case 4: text.insert(at, text.substr(draw(text.size()), draw(256))); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

}  // namespace

int main(int count, char** arguments) {
  const double seconds = count > 1 ? std::atof(arguments[1]) : 60;
  const TemporaryFolder folder;
  std::vector<std::string> seeds{small_json(), small_database(folder)};
  if (count > 2) {
    for (const auto& entry : std::filesystem::directory_iterator(arguments[2])) {
      if (entry.path().extension() == ".gz" && entry.file_size() < 10'000) seeds.push_back(file_bytes(entry.path()));
    }
  }
  std::mt19937_64 random(20250101);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t rounds = 0;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds; ++rounds) {
    const std::string text = changed(seeds[rounds % seeds.size()], random);
    std::ofstream(folder.file("last"), std::ios::binary) << text;  // what ended the process, if one does
    test::read_trace_bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  std::printf("%zu changed traces in %.0f s\n", rounds, seconds);
  return 0;
}
