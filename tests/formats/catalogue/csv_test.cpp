#include "formats/text/csv.h"

#include <catch2/catch.hpp>
#include <random>

#include "formats/machines/constant_table.h"

using namespace plimsoll;

TEST_CASE("read_csv keeps commas, quotes and line ends that stand in quotes") {
  const auto table = read_csv("a,b\r\n\"x,\"\"y\"\"\",\"two\nlines\"\r\n\r\nlast,\n", "t.csv");
  REQUIRE(table);
  REQUIRE(table->rows.size() == 2);
  CHECK(table->rows[0].fields == std::vector<std::string>{"x,\"y\"", "two\nlines"});
  CHECK(table->rows[1].fields == std::vector<std::string>{"last", ""});
  // The quoted field spans lines 2 and 3, line 4 is blank.
  CHECK(table->place(table->rows[1]) == "t.csv:5");
}

TEST_CASE("read_csv says on which line a table breaks its form") {
  struct Case {
    std::string_view text;
    std::string_view where;
    std::string_view what;
  };
  const Case cases[] = {
      {"", "t.csv", "empty"},
      {"\n\n", "t.csv", "empty"},
      {"a,a\n", "t.csv", "two columns"},
      {"a,\n", "t.csv", "without a name"},
      {"a,b\n1,2\n3\n", "t.csv:3", "1 fields where the header has 2"},
      {"a,b\n1,2,3\n", "t.csv:2", "3 fields"},
      {"a,b\n\"1,2\n\n", "t.csv:2", "never closed"},
      {"a,b\n\"1\"x,2\n", "t.csv:2", "after a closing quote"},
      {"a,b\n1\"x,2\n", "t.csv:2", "quote within"},
  };
  for (const auto& c : cases) {
    const auto table = read_csv(c.text, "t.csv");
    INFO(c.text);
    REQUIRE_FALSE(table);
    CHECK(table.error().kind == ErrorKind::kInput);
    CHECK(table.error().where == c.where);
    CHECK(table.error().what.find(c.what) != std::string::npos);
  }
  CHECK_FALSE(read_csv(std::string_view("a\n\0\n", 4), "t.csv"));
  CHECK_FALSE(read_csv(std::string_view("a\n\"\0\"\n", 6), "t.csv"));
}

TEST_CASE("parse_number takes a whole finite number and nothing else") {
  CHECK(parse_number("12.5") == 12.5);
  CHECK(parse_number("-1e3") == -1000.0);
  for (const auto* text : {"", " 1", "1 ", "1x", "nan", "inf", "-inf", "1e999", "0x10", "+1", "--1", "1,5"}) {
    INFO(text);
    CHECK_FALSE(parse_number(text));
  }
}

TEST_CASE("CsvFields reports the first defect with column and line") {
  const auto table = read_csv("a,b\n1,x\n", "t.csv");
  REQUIRE(table);
  CsvFields fields(*table, table->rows[0]);
  CHECK(fields.number("a") == 1.0);
  CHECK_FALSE(fields.error());
  fields.number("b");
  fields.number("c");
  REQUIRE(fields.error());
  CHECK(fields.error()->text() == "t.csv:2: column 'b': 'x' is no number");
}

TEST_CASE("read_csv of any bytes returns a table whose rows fit its header, or an error with a place") {
  const std::string alphabet = "ab,\"\n\r1. \t\xff";
  std::mt19937 random(7);
  int tables = 0;
  int refusals = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    const auto length = random() % 24;
    for (unsigned i = 0; i < length; ++i) text += alphabet[random() % alphabet.size()];
    if (random() % 8 == 0) text.insert(text.size() / 2, 1, '\0');
    const auto table = read_csv(text, "fuzz");
    ++(table ? tables : refusals);
    if (!table) {
      REQUIRE(table.error().where.starts_with("fuzz"));
      continue;
    }
    for (const auto& row : table->rows) REQUIRE(row.fields.size() == table->header.size());
  }
  CHECK(tables > 1000);
  CHECK(refusals > 1000);
}

TEST_CASE("a constant table refuses repeated keys and values that are no numbers") {
  const auto good = ConstantTable::read("key,value,unit,origin\nx,2,s,measured\n", "c.csv");
  REQUIRE(good);
  CHECK(good->at("x") == 2.0);
  CHECK(good->entry("x").origin == "measured");
  CHECK_THROWS_AS(good->at("y"), std::out_of_range);
  CHECK_FALSE(ConstantTable::read("key,value,unit,origin\nx,2,s,m\nx,3,s,m\n", "c.csv"));
  CHECK_FALSE(ConstantTable::read("key,value,unit,origin\nx,two,s,m\n", "c.csv"));
  CHECK_FALSE(ConstantTable::read("key,value\nx,2\n", "c.csv"));
}

TEST_CASE("every machine default has a positive value and an origin") {
  CHECK(machine_defaults().size() > 30);
  CHECK(machine_defaults().at("pcie.reached.3") == 0.78);
  for (const auto* key : {"pcie.lane.3", "ssd.read", "dram.geforce", "ram.geforce", "optimizer.dram_share"}) {
    CHECK(machine_defaults().at(key) > 0);
    CHECK_FALSE(machine_defaults().entry(key).origin.empty());
  }
}
