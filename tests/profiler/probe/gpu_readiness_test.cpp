#include "profiler/probe/gpu_readiness.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

namespace plimsoll::test {
namespace {

/// A computer as /proc, /sys and /usr show it.
class FakeComputer {
 public:
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(path)).parent_path());
    std::ofstream(folder_.file(path)) << text << "\n";
  }
  void driver(const std::string& version) {
    file("proc/driver/nvidia/version",
         "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " + version + "  Sun Jul 27 07:13:22 UTC 2025");
  }
  void gpu(const std::string& slot_width, const std::string& board_width, const std::string& now_width,
           const std::string& now_speed) {
    const std::string bridge = "sys/devices/pci0000:00/0000:00:01.0";
    file(bridge + "/max_link_width", slot_width);
    file(bridge + "/max_link_speed", "8.0 GT/s PCIe");
    const std::string device = bridge + "/0000:01:00.0";
    file(device + "/class", "0x030000");
    file(device + "/max_link_width", board_width);
    file(device + "/max_link_speed", "16.0 GT/s PCIe");
    file(device + "/current_link_width", now_width);
    file(device + "/current_link_speed", now_speed);
    std::filesystem::create_directories(folder_.file("sys/bus/pci/devices"));
    std::filesystem::create_directory_symlink("../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0",
                                              folder_.file("sys/bus/pci/devices/0000:01:00.0"));
  }
  [[nodiscard]] Finding finding(const std::string& subject, ReadinessOptions options = {}) const {
    options.root = folder_.path();
    if (options.capture_text.empty()) options.capture_text = "built with CUPTI";
    const auto all = gpu_readiness(options);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.subject == subject; });
    REQUIRE(found != all.end());
    CHECK((found->state == FindingState::kGood) == found->remedy.empty());
    return *found;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a computer without a GPU gets a remedy for each thing that is missing") {
  const FakeComputer computer;
  CHECK(computer.finding("driver").state == FindingState::kMissing);
  CHECK(computer.finding("toolkit").state == FindingState::kMissing);
  CHECK(computer.finding("profiling").state == FindingState::kMissing);
  CHECK(computer.finding("pcie").state == FindingState::kMissing);
}

TEST_CASE("a driver is judged by the CUDA that it runs") {
  FakeComputer computer;
  computer.driver("580.65.06");
  CHECK(computer.finding("driver").text == "NVIDIA 580.65.06");
  computer.driver("550.54.14");
  CHECK(computer.finding("driver").state == FindingState::kLimited);
  computer.driver("470.10.01");
  CHECK(computer.finding("driver").state == FindingState::kMissing);
  computer.file("proc/driver/nvidia/version", "something else");
  CHECK(computer.finding("driver").state == FindingState::kMissing);
}

TEST_CASE("a toolkit tells its version, and whether it can compile") {
  FakeComputer computer;
  computer.file("usr/local/cuda/include/cuda.h", "#define CUDA_VERSION 13000");
  CHECK(computer.finding("toolkit").state == FindingState::kLimited);
  computer.file("usr/local/cuda/bin/nvcc", "");
  CHECK(computer.finding("toolkit").state == FindingState::kGood);
  CHECK(computer.finding("toolkit").text == "CUDA 13.0 in /usr/local/cuda");
}

TEST_CASE("profiling that the driver keeps for administrators is said with the option that frees it") {
  FakeComputer computer;
  computer.file("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1");
  CHECK(computer.finding("profiling").state == FindingState::kLimited);
  CHECK(computer.finding("profiling").remedy.find("NVreg_RestrictProfilingToAdminUsers=0") != std::string::npos);
  CHECK(computer.finding("profiling", {.may_administer = true}).state == FindingState::kGood);
  computer.file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 0");
  CHECK(computer.finding("profiling").state == FindingState::kGood);
  CHECK(computer.finding("profiling", {.capture_built_in = false}).state == FindingState::kMissing);
}

TEST_CASE("a link narrower than board and slot can is a fault; one as wide as its slot wants another slot") {
  FakeComputer full, shared, narrow;
  full.gpu("16", "16", "16", "8.0 GT/s PCIe");
  CHECK(full.finding("pcie").state == FindingState::kGood);
  CHECK(full.finding("pcie").text == "0000:01:00.0: PCIe 3 x16 now; the board can PCIe 4 x16, the slot PCIe 3 x16");
  shared.gpu("16", "16", "8", "8.0 GT/s PCIe");
  CHECK(shared.finding("pcie").state == FindingState::kLimited);
  CHECK(shared.finding("pcie").remedy.find("reseat") != std::string::npos);
  narrow.gpu("4", "16", "4", "8.0 GT/s PCIe");
  CHECK(narrow.finding("pcie").state == FindingState::kLimited);
  CHECK(narrow.finding("pcie").remedy.find("slot with 16 lanes") != std::string::npos);
}

TEST_CASE("a link that idles slowly is no fault") {
  FakeComputer computer;
  computer.gpu("16", "16", "16", "2.5 GT/s PCIe");
  CHECK(computer.finding("pcie").state == FindingState::kGood);
  CHECK(computer.finding("pcie").text.find("under load PCIe 3") != std::string::npos);
}

TEST_CASE("direct storage is there with cuFile and nvidia-fs, saves nothing without the module, and is missing without the library") {
  const FakeComputer computer;
  const Finding none = computer.finding("direct storage");
  CHECK(none.state == FindingState::kMissing);
  CHECK(none.remedy.find("nvidia-gds") != std::string::npos);
  const Finding copies = computer.finding("direct storage", {.cufile = "libcufile.so.0"});
  CHECK(copies.state == FindingState::kLimited);
  CHECK(copies.text.find("compatibility mode") != std::string::npos);
  CHECK(copies.remedy.find("leave --direct-storage out") != std::string::npos);
  CHECK(computer.finding("direct storage", {.cufile = "libcufile.so.0", .nvidia_fs = true}).state == FindingState::kGood);
}

TEST_CASE("a low limit of locked memory is said with how to raise it") {
  const FakeComputer computer;
  CHECK(computer.finding("pinned memory").state == FindingState::kGood);
  CHECK(computer.finding("pinned memory", {.locked_limit = 8 * kMiB}).state == FindingState::kLimited);
  CHECK(computer.finding("pinned memory", {.locked_limit = kGiB}).state == FindingState::kGood);
}

}  // namespace plimsoll::test
