#include "profiler/probe/installed_gpus.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.h"

using namespace plimsoll;

namespace {

/// A /sys and /proc as Linux lays them out: devices lie below their bridges, and /sys/bus/pci/devices links to them.
class RecordedBus {
 public:
  void add(const std::string& bridge, const std::string& slot, const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string device = "sys/devices/pci0000:00/" + bridge + "/" + slot;
    std::filesystem::create_directories(folder_.file(device));
    for (const auto& [name, text] : files) std::ofstream(folder_.file(device + "/" + name)) << text << "\n";
    std::filesystem::create_directories(folder_.file("sys/bus/pci/devices"));
    std::filesystem::create_directory_symlink("../../../devices/pci0000:00/" + bridge + "/" + slot,
                                              folder_.file("sys/bus/pci/devices/" + slot));
  }
  void bridge(const std::string& name, const std::string& speed) {
    std::filesystem::create_directories(folder_.file("sys/devices/pci0000:00/" + name));
    std::ofstream(folder_.file("sys/devices/pci0000:00/" + name + "/max_link_speed")) << speed << "\n";
  }
  void drivers_name(const std::string& slot, const std::string& name) {
    std::filesystem::create_directories(folder_.file("proc/driver/nvidia/gpus/" + slot));
    std::ofstream(folder_.file("proc/driver/nvidia/gpus/" + slot + "/information"))
        << "Model: \t\t " << name << "\nIRQ:   \t\t 57\nBus Location: \t " << slot << "\n";
  }
  [[nodiscard]] std::vector<GpuPart> gpus() const { return installed_gpus(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a GPU has the lanes that it is linked by and the generation that both ends reach") {
  RecordedBus bus;
  bus.bridge("0000:00:01.0", "8.0 GT/s PCIe");
  // Idle: linked at 2.5 GT/s now. The board can 16 GT/s, the slot 8: generation 3.
  bus.add("0000:00:01.0", "0000:01:00.0",
          {{"class", "0x030000"}, {"vendor", "0x10de"}, {"device", "0x2504"}, {"current_link_width", "8"},
           {"current_link_speed", "2.5 GT/s PCIe"}, {"max_link_speed", "16.0 GT/s PCIe"}, {"numa_node", "-1"}});
  bus.drivers_name("0000:01:00.0", "NVIDIA GeForce RTX 3090");
  const auto gpus = bus.gpus();
  REQUIRE(gpus.size() == 1);
  CHECK(gpus[0].name == "RTX 3090");
  CHECK(gpus[0].pcie_lanes == 8);
  CHECK(gpus[0].pcie_generation == 3);
  CHECK_FALSE(gpus[0].numa_node);
  CHECK(gpu_text(gpus[0]) == "RTX 3090 (PCIe 3 x8)");
}

TEST_CASE("GPUs come in the order of their slots, with their nodes, and without a driver by number") {
  RecordedBus bus;
  for (const auto& [bridge, slot, node] : {std::tuple{"0000:00:03.0", "0000:41:00.0", "1"}, std::tuple{"0000:00:02.0", "0000:01:00.0", "0"}}) {
    bus.bridge(bridge, "32.0 GT/s PCIe");
    bus.add(bridge, slot,
            {{"class", "0x030200"}, {"vendor", "0x10de"}, {"device", "0x2335"}, {"current_link_width", "16"},
             {"max_link_speed", "32.0 GT/s PCIe"}, {"numa_node", node}});
  }
  const auto gpus = bus.gpus();
  REQUIRE(gpus.size() == 2);
  CHECK(gpu_text(gpus[0]) == "PCI device 0x10de:0x2335 (PCIe 5 x16, NUMA node 0)");
  CHECK(gpu_text(gpus[1]) == "PCI device 0x10de:0x2335 (PCIe 5 x16, NUMA node 1)");
}

TEST_CASE("other devices, and graphics without a link, are no GPUs; without /sys there are none") {
  RecordedBus bus;
  bus.bridge("0000:00:01.0", "8.0 GT/s PCIe");
  bus.add("0000:00:01.0", "0000:02:00.0", {{"class", "0x010802"}, {"current_link_width", "4"}});
  bus.add("0000:00:01.0", "0000:03:00.0", {{"class", "0x030000"}});
  bus.add("0000:00:01.0", "0000:04:00.0", {{"class", "0x030000"}, {"current_link_width", "0"}});
  CHECK(bus.gpus().empty());
  CHECK(installed_gpus(TemporaryFolder().path()).empty());
}
