#include "profiler/probe/system_texts.h"

#include <catch2/catch.hpp>
#include <random>

using namespace plimsoll;

TEST_CASE("parse_cpuinfo describes the first processor") {
  const auto cpu = parse_cpuinfo(
      "processor\t: 0\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2596.138\nflags\t\t: fpu fma avx avx2 avx512f\n\n"
      "processor\t: 1\nmodel name\t: other\n");
  CHECK(cpu.model == "AMD EPYC");
  CHECK(cpu.mhz == 2596.138);
  CHECK(cpu.avx2);
  CHECK(cpu.avx512);
  // avx2 alone is no fused multiply-add, and avx512ifma is not avx512f.
  const auto plain = parse_cpuinfo("flags : avx2 avx512ifma\n");
  CHECK_FALSE(plain.avx2);
  CHECK_FALSE(plain.avx512);
}

TEST_CASE("parse_meminfo reads whole fields in kibibytes") {
  const std::string_view text = "MemTotal:       24000000 kB\nMemAvailable:   1024 kB\nBroken: 12\n";
  CHECK(parse_meminfo(text, "MemAvailable") == Bytes(1024 * 1024));
  CHECK_FALSE(parse_meminfo(text, "Mem"));
  CHECK_FALSE(parse_meminfo(text, "Broken"));
  CHECK_FALSE(parse_meminfo("X: 99999999999999999 kB\n", "X"));
}

TEST_CASE("cgroup limits are numbers, or nothing where there is no limit") {
  CHECK(parse_cpu_max("150000 100000\n") == 1.5);
  CHECK_FALSE(parse_cpu_max("max 100000\n"));
  CHECK_FALSE(parse_cpu_max("-1 100000\n"));  // version 1 without a quota
  CHECK_FALSE(parse_cpu_max("100 0\n"));
}

TEST_CASE("parse_cgroup_path finds the process's group in both versions") {
  CHECK(parse_cgroup_path("0::/user.slice/a\n", "") == "/user.slice/a");
  const std::string_view mixed = "4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n";
  CHECK(parse_cgroup_path(mixed, "cpu") == "/c");
  CHECK(parse_cgroup_path(mixed, "memory") == "/m");
  CHECK(parse_cgroup_path(mixed, "") == "/");
  CHECK_FALSE(parse_cgroup_path(mixed, "cpuset"));
  CHECK_FALSE(parse_cgroup_path("", ""));
}

TEST_CASE("no text makes a reader return a negative size") {
  const std::string alphabet = "0123456789-:/ \nkBKmax,Mem";
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const auto length = random() % 20;
    for (unsigned i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
    CHECK(parse_meminfo("Mem:" + text, "Mem").value_or(Bytes(0)) >= Bytes(0));
    CHECK(parse_cpu_max(text).value_or(1.0) > 0);
    CHECK(parse_cgroup_path(text, "").value_or("/").front() == '/');
    CHECK(parse_cpuinfo(text).model.size() <= text.size());
  }
}
