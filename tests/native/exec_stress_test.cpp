// Random schedules of everything a caller can do, by seed, on engines of random configuration, with
// and without failing reads. Whatever happens, every request ends once with a reason that fits, and
// what it computed has the bits of a run in which nothing else happened.

#include <optional>

#include "exec_run.h"

namespace runahead::test {
namespace {

using Random = std::mt19937;

int32_t below(Random& random, int32_t n) {
  return static_cast<int32_t>(random() % static_cast<uint32_t>(n));
}

// What may be asked; index i of every run means the same request.
RequestOptions request_number(int32_t i) {
  RequestOptions o;
  constexpr int32_t kLengths[] = {1, 2, 5, 17, 33, 40};
  o.prompt = some_prompt(static_cast<uint32_t>(i), kLengths[i % 6]);
  o.max_tokens = i % 7 == 0 ? 0 : 3 + i % 11;
  o.ignore_end = i % 3 != 0;
  if (i % 2 == 1) {
    o.sampler.temperature = 0.9F;
    o.sampler.seed = static_cast<uint32_t>(i);
    o.sampler.repeat_penalty = i % 4 == 1 ? 1.1F : 1.0F;
  }
  return o;
}
constexpr int32_t kRequests = 12;

// The request that goes on in the same session.
RequestOptions follow_up(int32_t i, const std::vector<int32_t>& reply) {
  RequestOptions o = request_number(i);
  o.prompt.insert(o.prompt.end(), reply.begin(), reply.end());
  const auto more = some_prompt(100 + static_cast<uint32_t>(i), 9);
  o.prompt.insert(o.prompt.end(), more.begin(), more.end());
  return o;
}

struct Expected {
  Ended ended;
  Experts experts;
};

// Every request, and its follow-up, on its own.
class Reference {
 public:
  Reference(const std::string& path, EngineOptions options) {
    options.cache_bytes = 0;
    options.model.fault_seed = 0;
    options.policy = Policy{};
    Engine engine(path, options, {});
    Listener listener(engine);
    for (int32_t i = 0; i < kRequests; ++i) {
      const int32_t session = engine.requests().open_session();
      RequestOptions first = request_number(i);
      first.session = session;
      const Ended reply = add(engine, listener, first);
      RequestOptions second = follow_up(i, reply.tokens);
      second.session = session;
      add(engine, listener, second);
      engine.close_session(session);
    }
  }
  [[nodiscard]] const Expected& first(int32_t i) const {
    return expected_[static_cast<size_t>(2 * i)];
  }
  [[nodiscard]] const Expected& second(int32_t i) const {
    return expected_[static_cast<size_t>(2 * i + 1)];
  }

 private:
  Ended add(Engine& engine, Listener& listener, const RequestOptions& options) {
    const int32_t id = engine.submit(options);
    Expected expected;
    expected.ended = listener.end_of(id);
    std::vector<Record> records;
    engine.drain(records);
    expected.experts = asked_experts(records)[id];
    expected_.push_back(expected);
    return expected.ended;
  }
  std::vector<Expected> expected_;
};

struct Case {
  EngineOptions options;
  bool above_rule = true;  // caches large enough for the scheduler, else waves as well
  std::string text;
};

Case random_case(Random& random, ExecFiles& files) {
  Case c;
  EngineOptions& o = c.options;
  o = small_options();
  const int32_t store = below(random, 4);
  o.model.store = store == 0   ? StoreKind::kGguf
                  : store == 1 ? StoreKind::kMemory
                               : StoreKind::kPack;
  o.model.pack_path = files.pack_path(store == 2 ? WeightLayout::kPlain : WeightLayout::kRepacked);
  o.model.staged = below(random, 2) == 0;
  o.model.verify_reads = below(random, 4) == 0;
  o.model.max_requests = 1 + below(random, 2) * below(random, 16);
  o.model.prefill_chunk = 1 + below(random, 32);
  o.model.fault_seed = below(random, 2) == 0 ? 0 : random();
  o.fetcher.n_readers = below(random, 2) == 0 ? 1 : 8;
  o.fetcher.split = below(random, 3) > 0;
  o.cache_bytes = below(random, 3) == 0 ? 0 : 1 + static_cast<uint64_t>(below(random, 600000));
  c.text = "store " + std::to_string(store) + " staged " + std::to_string(o.model.staged) +
           " requests " + std::to_string(o.model.max_requests) + " chunk " +
           std::to_string(o.model.prefill_chunk) + " faults " + std::to_string(o.model.fault_seed) +
           " readers " + std::to_string(o.fetcher.n_readers) + " cache " +
           std::to_string(o.cache_bytes);
  return c;
}

Policy random_policy(Random& random) {
  Policy policy;
  for (const PolicyChoice& choice : policy_choices()) {
    policy.*choice.name =
        choice.known[static_cast<size_t>(below(random, static_cast<int32_t>(choice.known.size())))];
  }
  return policy;
}

class Stress {
 public:
  Stress(Engine& engine, const Reference& reference, bool faults)
      : engine_(engine), reference_(reference), faults_(faults), listener_(engine) {}

  // A caller: submits, cancels at any time, continues sessions, closes them while busy.
  void call(uint32_t seed, int32_t n_calls) {
    Random random(seed);
    for (int32_t n = 0; n < n_calls; ++n) {
      const int32_t i = below(random, kRequests);
      RequestOptions options = request_number(i);
      const bool in_session = below(random, 2) == 0;
      if (in_session) {
        options.session = engine_.requests().open_session();
      }
      const int32_t id = submit(options, reference_.first(i));
      if (in_session) {
        ask_while_busy(id, options);
      }
      disturb(random, id, options.session);
      if (in_session) {
        const Ended reply = listener_.end_of(id);
        if (reply.reason == "length" && below(random, 2) == 0) {
          RequestOptions more = follow_up(i, reply.tokens);
          more.session = options.session;
          int32_t second = -1;
          (void)error_of([&] {  // disturb() may have closed the session
            second = submit(more, reference_.second(i));
            disturb(random, second, more.session);
          });
          if (second >= 0 && below(random, 2) == 0) {
            (void)listener_.end_of(second);
          } else {
            note_cancel(second);
          }
        }
        (void)error_of([&] { engine_.close_session(options.session); });
      }
    }
  }

  // A monitor and a user at the settings.
  void meddle(uint32_t seed, const std::atomic<bool>& stop) {
    Random random(seed);
    std::vector<Record> records;
    while (!stop) {
      switch (below(random, 7)) {
        case 0: engine_.drain(records); break;
        case 1: (void)engine_.stats(); break;
        case 2: (void)engine_.progress_table(); break;
        case 3: resize(random); break;
        case 4: engine_.set_policy(random_policy(random), below(random, 3) == 0); break;
        case 5:
          engine_.set_link(below(random, 2) == 0
                               ? 0
                               : 200'000'000 + static_cast<uint64_t>(random() % 800'000'000));
          break;
        default: std::this_thread::sleep_for(std::chrono::microseconds(below(random, 500)));
      }
      if (records.size() > 100000) {
        records.clear();
      }
    }
    engine_.set_link(0);
  }

  void check_all() {
    for (const auto& [id, expected] : submitted_) {
      (void)listener_.end_of(id);
    }
    const std::map<int32_t, Ended> all = listener_.all();
    CHECK(all.size() == submitted_.size() + repeats_.size());
    for (const auto& [id, ended] : all) {
      if (repeats_.count(id) == 1) {
        continue;
      }
      CAPTURE(id);
      CAPTURE(ended.detail);
      REQUIRE(submitted_.count(id) == 1);
      const Expected& expected = *submitted_[id];
      CHECK(ended.n_ends == 1);
      const auto& wanted = expected.ended.tokens;
      if (ended.reason == expected.ended.reason) {  // length or stop
        CHECK(ended.detail == "");
        CHECK(ended.tokens == wanted);
        continue;
      }
      REQUIRE(ended.tokens.size() <= wanted.size());
      CHECK(std::equal(ended.tokens.begin(), ended.tokens.end(), wanted.begin()));
      if (ended.reason == "cancelled") {
        CHECK(cancelled_.count(id) == 1);
        CHECK(ended.detail == "");
      } else {
        CHECK(ended.reason == "error");
        check_fault(ended.detail, expected.experts);
      }
    }
  }

  Listener& listener() { return listener_; }

 private:
  int32_t submit(const RequestOptions& options, const Expected& expected) {
    const std::lock_guard guard(mutex_);  // its id is known before its end can be checked
    const int32_t id = engine_.submit(options);
    submitted_[id] = &expected;
    return id;
  }

  // A session takes one request at a time: a second is refused, unless the first was quicker.
  void ask_while_busy(int32_t id, const RequestOptions& options) {
    int32_t second = -1;
    const std::string refusal = error_of([&] {
      const std::lock_guard guard(mutex_);
      second = engine_.submit(options);
      repeats_.insert(second);
    });
    if (second < 0) {
      CHECK(has(refusal, "invalid: session "));
      return;
    }
    engine_.cancel(second);
    CHECK(listener_.end_of(id).n_ends == 1);
    CHECK(listener_.end_of(second).n_ends == 1);
  }

  void disturb(Random& random, int32_t id, int32_t session) {
    const int32_t how = below(random, 6);
    if (how == 1 || how == 2) {  // in the middle of decode, or wherever it is
      if (how == 1) {
        listener_.wait_for_tokens(id, static_cast<size_t>(1 + below(random, 4)));
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(below(random, 2000)));
      }
      note_cancel(id);
      engine_.cancel(id);
    } else if (how == 3) {
      note_cancel(id);
      engine_.cancel(id);
    } else if (how == 4 && session >= 0) {
      note_cancel(id);
      (void)error_of([&] { engine_.close_session(session); });
    }
  }
  void note_cancel(int32_t id) {
    const std::lock_guard guard(mutex_);
    cancelled_.insert(id);
  }

  void resize(Random& random) {
    const uint64_t total = engine_.model().layout().total_bytes();
    const uint64_t bytes = below(random, 4) == 0 ? 1 : random() % (total + total / 4) + 1;
    const CacheSize size = engine_.set_cache(bytes);
    const std::lock_guard guard(mutex_);
    CHECK(size.bytes <= total);
    CHECK(size.slots > 0);
    CHECK((size.reason != "" || size.bytes <= bytes + total / 8));
  }

  void check_fault(const std::string& detail, const Experts& experts) const {
    CHECK(faults_);
    int32_t layer = -1;
    int32_t expert = -1;
    const size_t at = detail.find("simulated fault at ");
    REQUIRE(at != std::string::npos);
    REQUIRE(std::sscanf(detail.c_str() + at, "simulated fault at layer %d expert %d", &layer,
                        &expert) == 2);
    CHECK(experts.count({layer, expert}) == 1);
  }

  Engine& engine_;
  const Reference& reference_;
  bool faults_;
  std::mutex mutex_;
  std::map<int32_t, const Expected*> submitted_;
  std::set<int32_t> cancelled_;
  std::set<int32_t> repeats_;  // accepted by ask_while_busy()
  Listener listener_;
};

void stress(ExecFiles& files, uint32_t seed) {
  Random random(seed);
  const Case c = random_case(random, files);
  const std::string what = "seed " + std::to_string(seed) + ": " + c.text;
  CAPTURE(what);
  const Watchdog watchdog(what);
  const Reference reference(files.gguf_path(), c.options);
  Engine engine(files.gguf_path(), c.options, {});
  Stress run(engine, reference, c.options.model.fault_seed != 0);
  std::atomic<bool> stop = false;
  std::jthread meddler([&] { run.meddle(seed + 1000, stop); });
  {
    std::vector<std::jthread> callers;
    for (uint32_t t = 0; t < 3; ++t) {
      callers.emplace_back([&run, seed, t] { run.call(seed * 10 + t, 8); });
    }
  }
  run.check_all();
  stop = true;
  meddler.join();
  CHECK(engine.stats().active_requests == 0);
  CHECK(engine.stats().queued_requests == 0);
}

}  // namespace

TEST_CASE("exec: random schedules on F32 weights") {
  ExecFiles files{ExecModel{}};
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    stress(files, seed);
  }
}

TEST_CASE("exec: random schedules on quantised weights of two slot classes") {
  ExecFiles files{ExecModel::quantised()};
  for (uint32_t seed = 101; seed <= 116; ++seed) {
    stress(files, seed);
  }
}

TEST_CASE("exec: random schedules with records that are read in parts") {
  ExecFiles files{ExecModel::large_records()};
  for (uint32_t seed = 201; seed <= 206; ++seed) {
    stress(files, seed);
  }
}

TEST_CASE("exec: an engine is destroyed while its requests wait, prefill and decode") {
  ExecFiles files{ExecModel{}};
  for (uint32_t seed = 1; seed <= 12; ++seed) {
    Random random(seed);
    Case c = random_case(random, files);
    // A link on which the reads in flight would take hours.
    const bool slow = seed % 3 == 0;
    c.options.fetcher.link_bytes_per_s = slow ? 1 : 0;
    CAPTURE(c.text);
    const Watchdog watchdog("destroy, seed " + std::to_string(seed) + ": " + c.text);
    Engine engine(files.gguf_path(), c.options, {});
    for (int32_t i = 0; i < kRequests; ++i) {
      engine.submit(request_number(i));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(below(random, 6000)));
    if (seed % 2 == 0) {
      engine.cancel(below(random, kRequests));
    }
  }
}

}  // namespace runahead::test
