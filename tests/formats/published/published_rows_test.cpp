#include <catch2/catch.hpp>

#include <random>

#include "formats/published/embedded_published.h"
#include "formats/published/published_rows.h"

using namespace plimsoll;

namespace {

const std::string kHeader =
    "system,model,params,layers,hidden,heads,kv_heads,ffn,vocab,seq,micro_batch,precision,optimizer,checkpointing,zero_stage,"
    "offload,n_gpu,gpu,metric,value,unit,source,flag,notes\n";
const std::string kRow =
    "torchtitan,Llama 3.1 8B,,32,4096,32,8,14336,128256,8192,2,bf16,AdamW fused,selective,3,none,8,H100,peak_reserved,82.4,"
    "GiB,somewhere,,eager\n";

}  // namespace

TEST_CASE("all shipped rows are read, and each file is told by its header") {
  const auto rows = shipped_published_rows();
  REQUIRE(rows);
  std::array<int, 5> counts{};
  for (const PublishedRow& row : *rows) ++counts.at(static_cast<std::size_t>(row.table));
  CHECK(counts == std::array<int, 5>{1053, 2220, 514, 1501, 799});
}

TEST_CASE("a row keeps its fields, its place and its value") {
  const auto rows = read_published_rows(kHeader + kRow, "mine.csv");
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  const PublishedRow& row = rows->front();
  CHECK(row.place == "mine.csv:2");
  CHECK(row.value == 82.4);
  CHECK(row.field("model") == "Llama 3.1 8B");
  CHECK(row.field("no such column").empty());
  CHECK(row.whole("seq") == 8192);
  CHECK_FALSE(row.whole("params"));
  CHECK_FALSE(row.whole("model"));
}

TEST_CASE("what is no number is the trouble of its row, what is no row that of its file") {
  std::string odd = kRow;
  odd.replace(odd.find("82.4"), 4, "OOM?");
  const auto rows = read_published_rows(kHeader + odd, "mine.csv");
  REQUIRE(rows);
  CHECK_FALSE(rows->front().value);

  const auto nameless = read_published_rows(kHeader + kRow + kRow.substr(kRow.find(',')), "mine.csv");
  REQUIRE_FALSE(nameless);
  CHECK(nameless.error().where == "mine.csv:3");
  CHECK(nameless.error().what == "column 'system': a row needs one");
}

TEST_CASE("a file with other columns is refused with the columns that it lacks") {
  const auto other = read_published_rows("name,bytes\na,1\n", "mine.csv");
  REQUIRE_FALSE(other);
  CHECK(other.error().where == "mine.csv");

  std::string short_header = kHeader;
  short_header.replace(short_header.find("micro_batch,"), 12, "");
  const auto lacking = read_published_rows(short_header, "mine.csv");
  REQUIRE_FALSE(lacking);
  CHECK(lacking.error().where == "mine.csv:1");
  CHECK(lacking.error().what == "rows of kind memory need a column 'micro_batch'");
  CHECK_FALSE(looks_like_published_rows("{\"format_version\":1}"));
  CHECK_FALSE(looks_like_published_rows(""));
  CHECK(looks_like_published_rows(kHeader));
}

TEST_CASE("damaged files of rows never crash the reader") {
  std::mt19937 random(7);
  const std::string sound = kHeader + kRow + kRow;
  for (int round = 0; round < 3000; ++round) {
    std::string text = sound;
    for (int change = 0; change < 4; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text.erase(at, random() % 40); break;
        case 1: text[at] = static_cast<char>(random()); break;
        case 2: text.insert(at, 1, "\",\n\r\0-9"[random() % 8]); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 60)); break;
      }
      if (text.empty()) text = ",";
    }
    const auto rows = read_published_rows(text, "mine.csv");
    if (!rows) CHECK_FALSE(rows.error().what.empty());
  }
}
