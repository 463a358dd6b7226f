#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/gpu/check.h"

// Runs what waits for a GPU: gpu_checks [OUT.json [SECONDS [NAME…]]]. Exit code 0: all bounds met; 1: some missed; 77: no GPU.
namespace plimsoll::gpu {

std::vector<Check> all_checks() {
  std::vector<Check> checks;
  for (const auto& some : {value_checks(), training_checks(), link_checks(), memory_checks(), attention_checks(),
                           speed_checks(), prediction_checks()}) {
    checks.insert(checks.end(), some.begin(), some.end());
  }
  return checks;
}

namespace {

constexpr int kNoDevice = 77;

const char* to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed: return "passed";
    case Verdict::kMissed: return "MISSED";
    case Verdict::kBroken: return "BROKEN";
    case Verdict::kSkipped: return "skipped";
  }
  return "";
}

void write(const std::string& file, const std::string& device, const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& f : findings) {
    list.push_back({{"name", f.name}, {"bound", f.bound}, {"result", to_text(f.verdict)}, {"value", f.value}, {"note", f.note},
                    {"seconds", f.seconds}});
  }
  const nlohmann::ordered_json all{{"format_version", 1}, {"device", device}, {"checks", list}};
  std::ofstream(file) << all.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void print(const Finding& f) {
  fmt::print("{:8} {:64} {:12.6g} {} [{:.1f} s]\n", to_text(f.verdict), f.name, f.value, f.note, f.seconds);
  std::fflush(stdout);
}

struct Request {
  std::string file;
  double seconds = 420;
  std::vector<std::string> names;

  [[nodiscard]] bool wants(const std::string& name) const {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  }
};

Request read_request(int count, char** words) {
  Request request;
  if (count > 1) request.file = words[1];
  if (count > 2) request.seconds = std::stod(words[2]);
  for (int i = 3; i < count; ++i) request.names.emplace_back(words[i]);
  return request;
}

/// What one check finds; one that breaks leaves a finding that says why.
void run_check(const Check& check, const std::shared_ptr<Device>& device, const GpuEntry& board, std::vector<Finding>& findings) {
  Bench bench(device, board, check.name, check.bound, findings);
  try {
    check.run(bench);
  } catch (const std::exception& trouble) {
    findings.push_back({.name = check.name, .bound = check.bound, .verdict = Verdict::kBroken, .note = trouble.what()});
  }
}

int skip_all(const Request& request, const std::string& why) {
  std::vector<Finding> findings;
  for (const Check& check : all_checks()) findings.push_back({.name = check.name, .bound = check.bound, .note = "skipped: " + why});
  for (const Finding& finding : findings) print(finding);
  if (!request.file.empty()) write(request.file, "none: " + why, findings);
  return kNoDevice;
}

std::string board_of(std::string name) {
  for (const std::string_view brand : {"NVIDIA ", "GeForce "}) {
    if (name.starts_with(brand)) name.erase(0, brand.size());
  }
  return name;
}

int run_all(const Request& request) {
  const auto device = open_cuda_device();
  if (!device) return skip_all(request, device.error().text());
  const DeviceInfo info = (*device)->info();
  const auto board = find_gpu(built_in_gpu_catalogue(), board_of(info.name));
  if (!board) return skip_all(request, board.error().text());
  const std::string text = fmt::format("{} sm_{}{}, {} free of {}, {}", info.name, info.major, info.minor, plimsoll::to_text(info.free),
                                       plimsoll::to_text(info.total), info.software);
  fmt::print("{}\n", text);
  std::vector<Finding> findings;
  const auto start = std::chrono::steady_clock::now();
  for (const Check& check : all_checks()) {
    if (!request.wants(check.name)) continue;
    const std::size_t before = findings.size();
    const double spent = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (spent > request.seconds) {
      findings.push_back({.name = check.name, .bound = check.bound, .note = "skipped: out of time"});
    } else {
      run_check(check, *device, *board, findings);
    }
    for (std::size_t i = before; i < findings.size(); ++i) print(findings[i]);
    if (!request.file.empty()) write(request.file, text, findings);  // after each: what breaks later loses nothing
  }
  const auto bad = std::count_if(findings.begin(), findings.end(), [](const Finding& f) {
    return f.verdict == Verdict::kMissed || f.verdict == Verdict::kBroken;
  });
  fmt::print("{} of {} missed or broken\n", bad, findings.size());
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace plimsoll::gpu

int main(int count, char** words) { return plimsoll::gpu::run_all(plimsoll::gpu::read_request(count, words)); }
