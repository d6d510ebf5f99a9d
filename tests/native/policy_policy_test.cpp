#include "policy/policy.h"

#include "base/error.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;

namespace {

std::string refusal(std::string_view text) {
  try {
    (void)parse_policy(text);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kInvalid);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("presets are what the design says") {
  CHECK(to_string(parse_policy("bevy")) == "runahead/lowest-layer/layer-srtf/lfu/none");
  CHECK(to_string(parse_policy("lockstep-lfu")) == "lockstep/lowest-layer/layer-srtf/lfu/none");
  CHECK(to_string(parse_policy("lockstep-lru")) == "lockstep/lowest-layer/layer-srtf/lru/none");
  CHECK(to_string(parse_policy("llama.cpp")) == "lockstep/lowest-layer/layer-srtf/layer-lru/none");
  CHECK(parse_policy("bevy") == Policy{});
}

TEST_CASE("what is printed can be read back") {
  for (const auto& [name, policy] : presets()) {
    CHECK(parse_policy(to_string(policy)) == policy);
  }
  CHECK(to_string(parse_policy("lockstep/fifo/global-srtf/lru/none")) ==
        "lockstep/fifo/global-srtf/lru/none");
}

TEST_CASE("a name left empty takes its default") {
  CHECK(parse_policy("////") == Policy{});
  CHECK(to_string(parse_policy("/fifo///")) == "runahead/fifo/layer-srtf/lfu/none");
  CHECK(to_string(parse_policy("lockstep///lru/")) == "lockstep/lowest-layer/layer-srtf/lru/none");
}

TEST_CASE("an unknown name is refused with what is known") {
  CHECK(refusal("batched////") ==
        "unknown schedule \"batched\"; this version knows: runahead, lockstep, static:4:4");
  CHECK(refusal("/srtf///") ==
        "unknown compute order \"srtf\"; this version knows: lowest-layer, fifo");
  CHECK(refusal("//lifo//") ==
        "unknown fetch order \"lifo\"; this version knows: layer-srtf, global-srtf, fifo");
  CHECK(refusal("///belady/") ==
        "unknown eviction \"belady\"; this version knows: lfu, lru, lfuda, least-stale, "
        "layer-lru, finemoe");
  CHECK(refusal("////oracle") ==
        "unknown prefetch \"oracle\"; this version knows: none, next-router, specmd, finemoe, "
        "promoe, prescope");
  for (const char* text : {"spec", "", "runahead", "a/b/c", "/////", "bevy/"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("presets bevy, lockstep-lfu, lockstep-lru, llama.cpp") !=
          std::string::npos);
  }
}

TEST_CASE("static schedules have any sizes") {
  CHECK(static_group_sizes("static:3:3") == std::vector<int32_t>{3, 3});
  CHECK(static_group_sizes("static:8") == std::vector<int32_t>{8});
  CHECK(static_group_sizes("runahead").empty());
  CHECK(parse_policy("static:2:2:2////").schedule == "static:2:2:2");
  for (const char* text : {"static:////", "static:4:////", "static:0:4////", "static:-1////",
                           "static:4,4////", "static:99999999999////", "static:5000////"}) {
    CAPTURE(text);
    CHECK(refusal(text).find("has no group sizes such as in \"static:4:4\"") != std::string::npos);
  }
}

TEST_CASE("a policy made by hand is checked too") {
  Policy policy;
  policy.eviction = "fifo";
  CHECK_THROWS_AS(validate(policy), Error);
}
