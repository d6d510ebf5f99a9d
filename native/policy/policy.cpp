#include "policy/policy.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "cache/eviction.h"
#include "policy/prefetcher.h"

namespace runahead {
namespace {

constexpr std::string_view kStatic = "static:";
constexpr std::string_view kSchedules[] = {"runahead", "lockstep", "static:4:4"};
constexpr std::string_view kComputeOrders[] = {"lowest-layer", "fifo"};
constexpr std::string_view kFetchOrders[] = {"layer-srtf", "global-srtf", "fifo"};

// More requests at a time are not served.
constexpr int32_t kMaxGroupSize = 4096;

const std::array<PolicyChoice, 5>& choices() {
  static const std::array<PolicyChoice, 5> all = {{
      {"schedule", &Policy::schedule, kSchedules},
      {"compute order", &Policy::compute_order, kComputeOrders},
      {"fetch order", &Policy::fetch_order, kFetchOrders},
      {"eviction", &Policy::eviction, eviction_names()},
      {"prefetch", &Policy::prefetch, prefetcher_names()},
  }};
  return all;
}

template <class Names>
std::string joined(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

std::string preset_names() {
  std::vector<std::string> names;
  for (const auto& [name, policy] : presets()) {
    names.push_back(name);
  }
  return joined(names);
}

}  // namespace

Policy parse_policy(std::string_view text) {
  for (const auto& [name, policy] : presets()) {
    if (name == text) {
      return policy;
    }
  }
  const auto n_slash = static_cast<size_t>(std::count(text.begin(), text.end(), '/'));
  if (n_slash != choices().size() - 1) {
    throw Error(ErrorCode::kInvalid,
                "unknown policy \"" + std::string(text) + "\"; this version knows the presets " +
                    preset_names() +
                    ", or takes five names joined by '/' (schedule, compute order, fetch order, "
                    "eviction, prefetch), for example " +
                    to_string(Policy{}));
  }
  Policy policy;
  for (const PolicyChoice& choice : choices()) {
    const std::string_view name = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    if (!name.empty()) {
      policy.*choice.name = name;
    }
  }
  validate(policy);
  return policy;
}

std::vector<int32_t> static_group_sizes(std::string_view schedule) {
  std::vector<int32_t> sizes;
  if (!schedule.starts_with(kStatic)) {
    return sizes;
  }
  const char* at = schedule.data() + kStatic.size() - 1;
  const char* const end = schedule.data() + schedule.size();
  while (at != end) {
    int32_t size = 0;
    const auto [after, error] = std::from_chars(at + 1, end, size);
    if (*at != ':' || error != std::errc() || size < 1 || size > kMaxGroupSize) {
      throw Error(ErrorCode::kInvalid, "schedule \"" + std::string(schedule) +
                                           "\" has no group sizes such as in \"static:4:4\"");
    }
    sizes.push_back(size);
    at = after;
  }
  return sizes;
}

void validate(const Policy& policy) {
  const bool is_static = !static_group_sizes(policy.schedule).empty();
  for (const PolicyChoice& choice : choices()) {
    const std::string& name = policy.*choice.name;
    if (choice.name == &Policy::schedule && is_static) {
      continue;
    }
    if (std::find(choice.known.begin(), choice.known.end(), name) == choice.known.end()) {
      throw Error(ErrorCode::kInvalid, "unknown " + std::string(choice.what) + " \"" + name +
                                           "\"; this version knows: " + joined(choice.known));
    }
  }
}

std::string to_string(const Policy& policy) {
  std::string text;
  for (const PolicyChoice& choice : choices()) {
    text += text.empty() ? "" : "/";
    text += policy.*choice.name;
  }
  return text;
}

const std::vector<std::pair<std::string, Policy>>& presets() {
  static const std::vector<std::pair<std::string, Policy>> all = {
      {"bevy", {"runahead", "lowest-layer", "layer-srtf", "lfu", "none"}},
      {"lockstep-lfu", {"lockstep", "lowest-layer", "layer-srtf", "lfu", "none"}},
      {"lockstep-lru", {"lockstep", "lowest-layer", "layer-srtf", "lru", "none"}},
      {"llama.cpp", {"lockstep", "lowest-layer", "layer-srtf", "layer-lru", "none"}},
      {"mixtral-offloading",
       {"lockstep", "lowest-layer", "layer-srtf", "layer-lru", "next-router"}},
      {"specmd", {"lockstep", "lowest-layer", "layer-srtf", "least-stale", "specmd"}},
      {"finemoe", {"lockstep", "lowest-layer", "layer-srtf", "finemoe", "finemoe"}},
      {"promoe", {"lockstep", "lowest-layer", "layer-srtf", "lfu", "promoe"}},
      {"prescope", {"lockstep", "lowest-layer", "layer-srtf", "lfu", "prescope"}},
      {"bevy+prefetch", {"runahead", "lowest-layer", "layer-srtf", "lfu", "next-router"}},
  };
  return all;
}

std::span<const PolicyChoice> policy_choices() {
  return choices();
}

}  // namespace runahead
