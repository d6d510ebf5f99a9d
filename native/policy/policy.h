// policy/policy.h
//
// A run is described by five names. Presets are rivals and ourselves; every
// preset is an honest one: same kernels, same store, same readers.
//
// A later policy adds its name where its code is: schedules and both orders in sched/ (and in the
// table of policy.cpp), evictions in cache/, prefetchers here.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runahead {

struct Policy {
  std::string schedule = "runahead";           // runahead | lockstep | static:4:4, any sizes
  std::string compute_order = "lowest-layer";  // lowest-layer | fifo
  std::string fetch_order = "layer-srtf";      // layer-srtf | global-srtf | fifo
  std::string eviction = "lfu";                // eviction_names()
  std::string prefetch = "none";               // prefetcher_names()
  bool operator==(const Policy&) const = default;
};

// `text` is a preset ("bevy", "lockstep-lfu", "llama.cpp" ...) or five names joined by
// '/' in the order above, for example "runahead/fifo/layer-srtf/lru/none"; a name left empty takes
// its default. Throws Error(kInvalid) that names the word and lists what is known.
[[nodiscard]] Policy parse_policy(std::string_view text);

// Throws as parse_policy does when one of the five is not a name this version knows.
void validate(const Policy& policy);

// "runahead/lowest-layer/layer-srtf/lfu/none".
[[nodiscard]] std::string to_string(const Policy& policy);

// The group sizes of "static:4:4", each at least 1; empty for another schedule. Throws
// Error(kInvalid) for sizes that are none.
[[nodiscard]] std::vector<int32_t> static_group_sizes(std::string_view schedule);

// Which decisions the policies of this version make. Whoever changes what one of them reads, evicts
// or computes on the same routing, be it a prefetcher, an eviction or the Scheduler, raises it:
// then no study mixes runs of before and after.
//   2: jobs that are routed together are issued together
constexpr int32_t kPolicyRevision = 2;

// Name and policy, in the order they are listed to people.
[[nodiscard]] const std::vector<std::pair<std::string, Policy>>& presets();

// One of the five, with the names it can have.
struct PolicyChoice {
  std::string_view what;  // "schedule"
  std::string Policy::* name;
  std::span<const std::string_view> known;
};
[[nodiscard]] std::span<const PolicyChoice> policy_choices();

}  // namespace runahead
