// Plays one step of a small model in every order in which readers and device can take and finish
// work.

#include <random>
#include <string>
#include <unordered_set>

#include "base/error.h"
#include "sim_world.h"

#undef CHECK  // doctest's from here on
#include <doctest/doctest.h>

using namespace runahead;
using namespace runahead::test;

namespace {

// Visits every state that any order of events can reach; returns how many there are.
size_t explore(const Setup& setup) {
  World root(setup);
  while (!root.in_last_step()) {
    root.apply(root.enabled().front());
  }
  std::unordered_set<std::string> visited;
  std::vector<std::vector<int8_t>> open = {root.path()};
  while (!open.empty()) {
    World world(setup);
    world.replay(open.back());
    open.pop_back();
    // Down one branch with this world, the other branches later from their paths.
    while (!world.finished() && visited.insert(world.key()).second) {
      const std::vector<int8_t> events = world.enabled();
      for (size_t i = 1; i < events.size(); ++i) {
        open.push_back(world.path());
        open.back().push_back(events[i]);
      }
      world.apply(events[0]);
    }
  }
  return visited.size();
}

Routing random_routing(uint32_t seed) {
  std::mt19937 rng(seed);
  Routing routing;
  for (auto& layers : routing) {
    for (Experts& experts : layers) {
      experts[0] = static_cast<int32_t>(rng() % kExperts);
      experts[1] = (experts[0] + 1 + static_cast<int32_t>(rng() % (kExperts - 1))) % kExperts;
    }
  }
  return routing;
}

constexpr const char* kPolicies[] = {"bevy", "lockstep-lfu", "lockstep-lru",
                                     "runahead/fifo/fifo/lru/none",
                                     "runahead/lowest-layer/global-srtf/lru/none"};
constexpr int32_t kFewestSlots = kRequests * kUsed;
constexpr int32_t kAllSlots = kLayers * kExperts;

}  // namespace

TEST_CASE("every order of completion keeps the rules") {
  for (const char* policy : kPolicies) {
    size_t n_state = 0;
    for (const int32_t slots : {kFewestSlots, 8, kAllSlots}) {
      for (uint32_t seed = 0; seed < 3; ++seed) {
        const Routing routing = random_routing(seed), before = random_routing(seed + 9);
        n_state += explore({policy, slots, true, {routing}});
        n_state += explore({policy, slots, true, {before, routing}});
      }
    }
    // A step in lockstep has one order of groups, so it reaches few states.
    CHECK(n_state > (std::string(policy).starts_with("lockstep") ? 300 : 7000));
  }
}

TEST_CASE(
    "every order of completion keeps the rules when readers and device are slow to take work") {
  for (const char* policy : kPolicies) {
    size_t n_state = 0;
    for (const int32_t slots : {kFewestSlots, 8}) {
      n_state += explore({policy, slots, false, {random_routing(1)}});
    }
    CHECK(n_state > (std::string(policy).starts_with("lockstep") ? 80 : 5000));
  }
}
