#include "formats/machines/gpu_catalogue.h"

#include <catch2/catch.hpp>
#include <random>

#include "formats/machines/embedded_platforms.h"
#include "formats/machines/memory_overheads.h"

using namespace plimsoll;

namespace {

std::string found(std::string_view name) {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), name);
  return gpu ? gpu->name : "error: " + gpu.error().text();
}

}  // namespace

TEST_CASE("the built-in catalogue holds the RTX 2060 as its maker describes it") {
  REQUIRE(built_in_gpu_catalogue().size() == 164);
  const auto gpu = find_gpu(built_in_gpu_catalogue(), "RTX 2060 6GB");
  REQUIRE(gpu);
  CHECK(gpu->memory == 6 * kGiB);
  CHECK(gpu->memory_gbs == 336);
  CHECK(gpu->multiprocessors == 30);
  CHECK(gpu->fp16_tflops == 25.8);
  CHECK_FALSE(gpu->bf16_tflops);
  CHECK(gpu->pcie_generation == 3);
  CHECK(gpu->board == GpuBoard::kGeForce);
  // 140.4 GiB · 1024 = 143769.6, cut to whole MiB.
  CHECK(find_gpu(built_in_gpu_catalogue(), "H200")->memory == 143769 * kMiB);
}

TEST_CASE("find_gpu ignores case, spaces, dashes, word order and the maker's name") {
  CHECK(found("rtx2060 6gb") == "RTX 2060 6GB");
  CHECK(found("RTX-2060-6GB") == "RTX 2060 6GB");
  CHECK(found("NVIDIA GeForce RTX 3090") == "RTX 3090");
  CHECK(found("A100-80GB SXM") == "A100 80GB SXM4");
  CHECK(found("NVIDIA A100-SXM4-80GB") == "A100 80GB SXM4");
  CHECK(found("Tesla V100-SXM2-16GB") == "V100 SXM2 16GB");
  CHECK(found("NVIDIA GeForce RTX 3090 Founders Edition") == "RTX 3090");
  CHECK(found("ASUS ROG Strix RTX 4090 OC") == "RTX 4090");
  CHECK(found("Gigabyte RTX 3060 12GB Gaming") == "RTX 3060 12GB");
  CHECK(found("MSI GeForce RTX 4090 SUPRIM X 24G") == "RTX 4090");
  CHECK(found("MSI RTX 4060 Ti 16G Gaming X Trio") == "RTX 4060 Ti 16GB");
  CHECK(found("Sapphire Nitro+ RX 7900 XTX") == "RX 7900 XTX");
  CHECK(found("NVIDIA GeForce RTX 2060 6GB Laptop GPU") == "RTX 2060 6GB Mobile");
  CHECK(found("4090") == "RTX 4090");
  CHECK(found("tesla t4") == "T4");
  CHECK(found("NVIDIA H200") == "H200 SXM 141GB");
  CHECK(found("NVIDIA GH200 480GB") == "GH200 96GB HBM3");
  CHECK(found("AMD Radeon RX 7900 XTX") == "RX 7900 XTX");
  CHECK(found("NVIDIA RTX PRO 6000 Blackwell Workstation Edition") == "RTX PRO 6000 Blackwell");
  CHECK(found("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition") == "RTX PRO 6000 Blackwell Max-Q");
  CHECK(found("RTX PRO 6000") == "RTX PRO 6000 Blackwell");
  CHECK(found("NVIDIA RTX PRO 4000 Blackwell") == "RTX PRO 4000 Blackwell");
}

TEST_CASE("find_gpu takes every name of the catalogue as itself") {
  for (const auto& gpu : built_in_gpu_catalogue()) CHECK(found(gpu.name) == gpu.name);
}

TEST_CASE("find_gpu takes none of several boards that a name may mean") {
  CHECK(found("RTX 2060") ==
        "error: 'RTX 2060' does not say which board is meant: RTX 2060 6GB, RTX 2060 6GB Mobile, RTX 2060 6GB Max-Q, "
        "RTX 2060 12GB; RTX 2060 Super is another model (write it out, for example 'RTX 2060 6GB')");
  CHECK(found("rtx2060") == found("RTX 2060").replace(8, 8, "rtx2060"));
  for (const auto* name : {"A100", "H100", "V100", "RTX 3080", "RTX 3060", "GH200"}) {
    const auto gpu = find_gpu(built_in_gpu_catalogue(), name);
    INFO(name);
    REQUIRE_FALSE(gpu);
    CHECK(gpu.error().kind == ErrorKind::kUnknownName);
    CHECK(gpu.error().what.find("which board") != std::string::npos);
  }
}

TEST_CASE("what stands in brackets tells boards apart where it leaves one of one size") {
  CHECK(found("Titan X (Maxwell)") == "Titan X (Maxwell) 12GB");
  CHECK(found("NVIDIA TITAN X (Pascal)") == "Titan X (Pascal) 12GB");
  CHECK(found("Titan X").find("error: 'Titan X' does not say") == 0);
  CHECK(found("8x RTX 4090 (PCIe4 x16)") == "RTX 4090");
}

TEST_CASE("find_gpu takes the spellings of published tables") {
  const std::pair<const char*, const char*> spellings[] = {
      {"A100-SXM4-80GB", "A100 80GB SXM4"},  {"a100_80gb", "A100 80GB SXM4"},      {"a100_40gb", "A100 40GB SXM4"},
      {"V100-16GB", "V100 SXM2 16GB"},       {"1x V100-SXM3-32GB (DGX-2)", "V100 SXM3 32GB"},
      {"h100_80gb", "H100 SXM5 80GB"},       {"RTX 2070 SUPER 8GB", "RTX 2070 Super"}, {"RTX3090-24GB", "RTX 3090"},
      {"RTX4070Ti-SUPER-16GB", "RTX 4070 Ti Super"}, {"2080Ti", "RTX 2080 Ti"}, {"RTX 2080Ti", "RTX 2080 Ti"},
      {"RTX2080Ti-11GB", "RTX 2080 Ti"},     {"2080SuperMaxQ", "RTX 2080 Super Max-Q"}, {"TitanRTX", "Titan RTX"},
      {"QuadroRTX5000", "Quadro RTX 5000"},  {"RTX Quadro 8000", "Quadro RTX 8000"}, {"RTX 3060 Laptop 6GB (6144 MiB)", "RTX 3060 6GB Mobile"},
      {"Tesla K80 (one die)", "K80 (one die)"}, {"RTX A5000-24GB", "RTX A5000"},  {"A10G-24GB", "A10G"}, {"P40-24GB", "P40"},
      {"RTX 3090 (280W, slow PCIe, no NVLink)", "RTX 3090"}, {"8x RTX 4090", "RTX 4090"}, {"GB200", "GB200 186GB"}, {"MI300X", "MI300X"}};
  for (const auto& [spelling, name] : spellings) {
    CAPTURE(spelling);
    CHECK(found(spelling) == name);
  }
}

TEST_CASE("a size that is not the board's own is never passed over") {
  CHECK(found("RTX 3090 12GB").find("error") == 0);
  CHECK(found("V100-64GB").find("error") == 0);
}

TEST_CASE("a name that leaves the build open is told apart from the board's own") {
  const GpuEntry a100 = *find_gpu(built_in_gpu_catalogue(), "A100-80GB");
  CHECK(is_alias(a100, "A100-80GB"));
  CHECK_FALSE(is_alias(a100, "A100-SXM4-80GB"));
}

TEST_CASE("boards of another maker are known to be simulated only") {
  for (const char* name : {"MI300X", "MI100", "RX 7900 XTX"}) CHECK(is_simulated_only(*find_gpu(built_in_gpu_catalogue(), name)));
  CHECK_FALSE(is_simulated_only(*find_gpu(built_in_gpu_catalogue(), "RTX 4090")));
}

TEST_CASE("every value of the catalogue has a source, and boards of one architecture agree in what their matrix units read") {
  CHECK(built_in_gpu_catalogue().size() >= 150);
  for (const auto& gpu : built_in_gpu_catalogue()) {
    CAPTURE(gpu.name);
    CHECK_FALSE(gpu.source.empty());
    const bool turing_or_older = gpu.architecture.starts_with("Turing") || gpu.architecture == "Volta" || gpu.architecture == "Pascal" ||
                                 gpu.architecture == "Maxwell" || gpu.architecture == "Kepler";
    if (turing_or_older) CHECK_FALSE(gpu.bf16_tflops.has_value());
    if (turing_or_older) CHECK_FALSE(gpu.tf32_tflops.has_value());
    const bool newer = gpu.architecture == "Ampere" || gpu.architecture == "Ada" || gpu.architecture.starts_with("Blackwell") || gpu.architecture == "Hopper";
    if (newer) CHECK(gpu.bf16_tflops.value_or(0) > 0);
    if (newer) CHECK(gpu.tf32_tflops.value_or(0) > 0);
  }
}

TEST_CASE("find_gpu never guesses a consumer board's memory or another model") {
  // The RTX 4060 Ti is sold with 8 and 16 GB, the catalogue knows one of them; the RTX 6000 came before the RTX 6000
  // Ada.
  CHECK(found("RTX 4060 Ti").find("error: 'RTX 4060 Ti' does not say") == 0);
  CHECK_THAT(found("RTX 6000"), Catch::Contains("Quadro RTX 6000") && Catch::Contains("RTX 6000 Ada") && !Catch::Contains("other models"));
}

TEST_CASE("find_gpu names the nearest boards for a name it does not know") {
  const auto gpu = find_gpu(built_in_gpu_catalogue(), "RTX 3099");
  REQUIRE_FALSE(gpu);
  CHECK(gpu.error().kind == ErrorKind::kUnknownName);
  CHECK(gpu.error().remedy.find("RTX 3090") != std::string::npos);
  for (const std::string& name :
       {std::string(), std::string("   "), std::string(100000, 'x'), std::string("\xff\x00\x01", 3)}) {
    CHECK_FALSE(find_gpu(built_in_gpu_catalogue(), name));
  }
}

TEST_CASE("default_precision follows the matrix units a board has") {
  const auto advice = [](std::string_view name) {
    return default_precision(*find_gpu(built_in_gpu_catalogue(), name));
  };
  CHECK(advice("RTX 2060 6GB").precision == Precision::kFp16Mixed);
  CHECK(advice("V100 PCIe 16GB").precision == Precision::kFp16Mixed);
  CHECK(advice("RTX 3090").precision == Precision::kBf16Mixed);
  CHECK(advice("H200").precision == Precision::kBf16Mixed);
  CHECK(advice("GTX 1080 Ti").precision == Precision::kFp32);
  CHECK(advice("GTX 1660 Ti").precision == Precision::kFp32);
  CHECK(advice("RTX 2060 6GB").reason ==
        "RTX 2060 6GB (Turing) has fp16 matrix units (25.8 TFLOP/s) but none for bf16");
}

TEST_CASE("read_gpu_catalogue names line and column of an unusable row") {
  const std::string header =
      "name,arch,board,sm,compute_capability,mem_gib,mem_bw_gbs,l2_mib,fp32_tflops,tf32_tc_tflops,fp16_tc_fp16acc_"
      "tflops,"
      "fp16_tc_fp32acc_tflops,bf16_tc_tflops,fp8_tflops,fp64_tflops,pcie_gen,pcie_lanes,nvlink_gbs_total,tdp_w,"
      "source\n";
  const std::string good = "X,A,geforce,10,7.5,8,400,,,,,,,,,3,16,,,s\n";
  REQUIRE(read_gpu_catalogue(header + good, "g.csv"));
  struct Case {
    std::string row;
    std::string column;
  };
  const Case cases[] = {
      {"X,A,geforce,10,7.5,8,400,,,,,,,,,3,16,,,s\n", "name"},
      {"Y,A,toaster,10,7.5,8,400,,,,,,,,,3,16,,,s\n", "board"},
      {"Y,A,geforce,0,7.5,8,400,,,,,,,,,3,16,,,s\n", "sm"},
      {"Y,A,geforce,10,7.5,1e300,400,,,,,,,,,3,16,,,s\n", "mem_gib"},
      {"Y,A,geforce,10,7.5,8,,,,,,,,,,3,16,,,s\n", "mem_bw_gbs"},
      {"Y,A,geforce,10,7.5,8,400,,-1,,,,,,,3,16,,,s\n", "fp32_tflops"},
      {"Y,A,geforce,10,7.5,8,400,,,,,,,,,3.5,16,,,s\n", "pcie_gen"},
      {",A,geforce,10,7.5,8,400,,,,,,,,,3,16,,,s\n", "name"},
  };
  for (const auto& c : cases) {
    const auto entries = read_gpu_catalogue(header + good + c.row, "g.csv");
    INFO(c.row);
    REQUIRE_FALSE(entries);
    CHECK(entries.error().where == "g.csv:3");
    CHECK(entries.error().what.find("'" + c.column + "'") != std::string::npos);
  }
}

TEST_CASE("a damaged catalogue is read or refused, never trusted with nonsense") {
  const std::string whole(embedded_platforms("data/platforms/gpus.csv"));
  std::mt19937 random(11);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string text = whole.substr(0, round % 3 == 0 ? random() % whole.size() : whole.size());
    for (int i = 0; i < 4 && !text.empty(); ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto entries = read_gpu_catalogue(text, "fuzz");
    if (!entries) {
      ++refused;
      continue;
    }
    for (const auto& gpu : *entries) {
      REQUIRE(gpu.memory > Bytes(0));
      REQUIRE(gpu.memory_gbs > 0);
      REQUIRE(gpu.multiprocessors > 0);
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("every board has a context and a carve-out, and they leave most of its memory") {
  for (const auto& gpu : built_in_gpu_catalogue()) {
    INFO(gpu.name);
    const auto* carve_out = find_overhead(built_in_memory_overheads(), "carve_out", gpu);
    const auto* context = find_overhead(built_in_memory_overheads(), "context", gpu);
    REQUIRE(carve_out != nullptr);
    REQUIRE(context != nullptr);
    CHECK((overhead_bytes(*carve_out, gpu) + overhead_bytes(*context, gpu)).count < gpu.memory.count / 5);
  }
}

TEST_CASE("a board whose name has no letters is found by that name alone") {
  std::vector<GpuEntry> entries(2);
  entries[0].name = "--";
  entries[1].name = "A100 80GB";
  CHECK(find_gpu(entries, "A100 80GB")->name == "A100 80GB");
  CHECK(find_gpu(entries, "--")->name == "--");
  CHECK_FALSE(find_gpu(entries, "A200"));
  CHECK_THAT(find_gpu(entries, "A100 80GB x2").error().remedy, Catch::Contains("'2x A100 80GB'"));
  CHECK(find_gpu(entries, "A200 x2").error().remedy.find("several") == std::string::npos);
  for (const char* name : {"x2", " x2", "2", "A100 80GB x", "x"}) CHECK(find_gpu(entries, name).error().remedy.find("several") == std::string::npos);
}
