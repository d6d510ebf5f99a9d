// policy/policy.h
//
// A run is described by five names. Presets are rivals and ourselves; every
// preset is an honest one: same kernels, same store, same readers.
//
// A later policy adds its name to the table in policy.cpp, and its code to the room that decides:
// schedules and both orders in sched/, evictions in cache/, prefetchers here.

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace runahead {

struct Policy {
  std::string schedule = "runahead";           // runahead | lockstep   (later static:3:3 ...)
  std::string compute_order = "lowest-layer";  // lowest-layer | fifo
  std::string fetch_order = "layer-srtf";      // layer-srtf | global-srtf | fifo
  std::string eviction = "lfu";                // lfu | lru             (later least-stale ...)
  std::string prefetch = "none";               // none                  (later next-router ...)
  bool operator==(const Policy&) const = default;
};

// `text` is a preset ("bevy", "lockstep-lfu", "lockstep-lru", "llama.cpp") or five names joined by
// '/' in the order above, for example "runahead/fifo/layer-srtf/lru/none"; a name left empty takes
// its default. Throws Error(kInvalid) that names the word and lists what is known.
[[nodiscard]] Policy parse_policy(std::string_view text);

// Throws as parse_policy does when one of the five is not a name this version knows.
void validate(const Policy& policy);

// "runahead/lowest-layer/layer-srtf/lfu/none".
[[nodiscard]] std::string to_string(const Policy& policy);

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
