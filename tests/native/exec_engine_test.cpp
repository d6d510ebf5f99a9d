// What the engine promises beyond the random schedules: who ends when a read or the device fails,
// sessions, and that nothing grows while it runs.

#include <ggml-cpu.h>
#include <unistd.h>

#include <fstream>

#include "exec_run.h"

namespace runahead::test {
namespace {

size_t resident_bytes() {
  std::ifstream in("/proc/self/statm");
  size_t pages = 0;
  size_t resident = 0;
  in >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Of ExecModel{}: three matrices of 64 x 64 numbers; records stand in order at the end of a pack.
constexpr uint64_t kRecordBytes = 3 * 64 * 64 * 4;
constexpr int32_t kRecords = 24;

void damage_record(const std::filesystem::path& pack, int32_t layer, int32_t expert) {
  const auto left = static_cast<uint64_t>(kRecords - (layer * 8 + expert));
  std::fstream file(pack, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(pack) - left * kRecordBytes));
  file.write("damaged", 7);
  REQUIRE(file.flush());
}

// The tokens of each prompt alone, and the experts it needs.
struct Alone {
  std::vector<Ended> ended;
  std::vector<Experts> experts;
  Alone(const std::string& path, const EngineOptions& options,
        const std::vector<RequestOptions>& requests) {
    Engine engine(path, options, {});
    Listener listener(engine);
    for (const RequestOptions& one : requests) {
      const int32_t id = engine.submit(one);
      ended.push_back(listener.end_of(id));
      std::vector<Record> records;
      engine.drain(records);
      experts.push_back(asked_experts(records)[id]);
    }
  }
};

}  // namespace

TEST_CASE("exec: a read error ends exactly the requests that need the expert, with its name") {
  ExecFiles files{ExecModel{}};
  EngineOptions options = small_options();
  options.model.store = StoreKind::kPack;
  options.model.pack_path = files.pack_path(WeightLayout::kRepacked);
  options.model.verify_reads = true;
  options.model.max_requests = 6;
  std::vector<RequestOptions> requests;
  for (uint32_t i = 0; i < 6; ++i) {
    requests.push_back(request(some_prompt(i, 2), 6));
  }
  const Alone alone(files.gguf_path(), options, requests);
  for (RequestOptions& one : requests) {
    one.max_tokens = 1;
  }
  const Alone prefill(files.gguf_path(), options, requests);
  for (RequestOptions& one : requests) {
    one.max_tokens = 6;
  }

  const std::filesystem::path damaged = options.model.pack_path + ".damaged";
  for (const bool waves : {false, true}) {
    int n_failed = 0;
    int n_failed_in_decode = 0;  // while others went on
    int n_survived = 0;
    for (int32_t nth = 0; nth < kRecords; ++nth) {
      const int32_t layer = nth / 8;
      const int32_t expert = nth % 8;
      CAPTURE(waves);
      CAPTURE(layer);
      CAPTURE(expert);
      std::filesystem::copy_file(options.model.pack_path, damaged,
                                 std::filesystem::copy_options::overwrite_existing);
      damage_record(damaged, layer, expert);
      EngineOptions with_damage = options;
      with_damage.model.pack_path = damaged;
      with_damage.model.staged = nth % 2 == 1;
      with_damage.cache_bytes = waves ? 3 * kRecordBytes : 0;  // for one request, not for two
      Engine engine(files.gguf_path(), with_damage, {});
      Listener listener(engine);
      std::vector<int32_t> ids;
      for (const RequestOptions& one : requests) {
        ids.push_back(engine.submit(one));
      }
      int n_here = 0;
      int n_in_decode = 0;
      for (size_t i = 0; i < ids.size(); ++i) {
        CAPTURE(i);
        const Ended ended = listener.end_of(ids[i]);
        CAPTURE(ended.detail);
        if (alone.experts[i].count({layer, expert}) == 1) {
          ++n_failed;
          n_in_decode += prefill.experts[i].count({layer, expert}) == 0 ? 1 : 0;
          CHECK(ended.reason == "error");
          CHECK(has(ended.detail, damaged.string()));
          CHECK(has(ended.detail,
                    "layer " + std::to_string(layer) + " expert " + std::to_string(expert)));
        } else {
          ++n_here;
          CHECK(ended.reason == "length");
          CHECK(ended.tokens == alone.ended[i].tokens);
        }
      }
      n_survived += n_here;
      n_failed_in_decode += n_here > 0 ? n_in_decode : 0;
    }
    CHECK(n_failed > 10);
    CHECK(n_failed_in_decode > 3);
    CHECK(n_survived > 10);
  }
}

TEST_CASE("exec: a fetch that a cancelled request left behind and that fails ends nobody") {
  ExecFiles files{ExecModel{}};
  const std::string path = files.pack_path(WeightLayout::kPlain);
  EngineOptions options = small_options();
  options.model.store = StoreKind::kPack;
  options.model.pack_path = path;
  options.model.verify_reads = true;
  const std::vector<RequestOptions> requests = {request(some_prompt(1, 1), 5),
                                                request(some_prompt(2, 1), 5)};
  const Alone alone(files.gguf_path(), options, requests);
  Experts only_first;
  std::set_difference(alone.experts[0].begin(), alone.experts[0].end(), alone.experts[1].begin(),
                      alone.experts[1].end(), std::inserter(only_first, only_first.end()));
  REQUIRE(!only_first.empty());
  for (const auto& [layer, expert] : only_first) {
    damage_record(path, layer, expert);
  }
  const Watchdog watchdog("left-behind fetches");
  int n_left_behind = 0;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    Engine engine(files.gguf_path(), options, {});
    Listener listener(engine);
    engine.set_link(10'000'000);  // 5 ms for a record
    const int32_t first = engine.submit(requests[0]);
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 4));
    engine.cancel(first);
    n_left_behind += listener.end_of(first).reason == "cancelled" ? 1 : 0;
    const Ended ended = run_one(engine, listener, requests[1]);
    CAPTURE(ended.detail);
    CHECK(ended.reason == "length");
    CHECK(ended.tokens == alone.ended[1].tokens);
  }
  CHECK(n_left_behind > 0);
}

TEST_CASE("exec: when the device fails, who was computed ends, and the engine goes on") {
  ExecFiles files{ExecModel{}};
  struct Countdown {
    std::atomic<int64_t> left{INT64_MAX};
    static bool reached(void* self) { return --static_cast<Countdown*>(self)->left == 0; }
  };
  for (const bool waves : {false, true}) {
    CAPTURE(waves);
    const Watchdog watchdog("failing device");
    EngineOptions options = small_options();
    Engine engine(files.gguf_path(), options, {});
    if (waves) {
      engine.set_cache(1);
    }
    Listener listener(engine);
    const RequestOptions one = request(some_prompt(7, 20), 4);
    const Ended good = run_one(engine, listener, one);
    REQUIRE(good.reason == "length");
    Countdown countdown;
    ggml_backend_dev_t device = ggml_backend_get_device(engine.model().device().backend());
    const auto set_callback =
        reinterpret_cast<void (*)(ggml_backend_t, ggml_abort_callback, void*)>(
            ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device),
                                              "ggml_backend_set_abort_callback"));
    REQUIRE((set_callback != nullptr));
    set_callback(engine.model().device().backend(), &Countdown::reached, &countdown);
    int n_failed = 0;
    for (int64_t at = 1; at < 1500; at += at < 40 ? 1 : 37) {
      CAPTURE(at);
      countdown.left = at;
      std::vector<int32_t> ids;
      for (int i = 0; i < 3; ++i) {
        ids.push_back(engine.submit(one));
      }
      for (const int32_t id : ids) {
        const Ended ended = listener.end_of(id);
        if (ended.reason == "error") {
          ++n_failed;
          CHECK(has(ended.detail, "the device failed to compute"));
        } else {
          CHECK(ended.reason == "length");
          CHECK(ended.tokens == good.tokens);
        }
      }
    }
    CHECK(n_failed > 40);
    countdown.left = INT64_MAX;
    CHECK(run_one(engine, listener, one).tokens == good.tokens);
    set_callback(engine.model().device().backend(), nullptr, nullptr);
  }
}

TEST_CASE("exec: as many requests as can be, in forms that need most nodes") {
  ExecModel model;
  model.n_layer = 2;
  ExecFiles files{model};
  EngineOptions options = small_options();
  options.model.max_requests = 64;
  std::vector<RequestOptions> requests;
  for (uint32_t i = 0; i < 64; ++i) {
    requests.push_back(request(some_prompt(i, 1 + static_cast<int32_t>(i % 3)), 4));
  }
  const Alone alone(files.gguf_path(), options, requests);
  for (const uint64_t cache : {uint64_t{0}, uint64_t{1}}) {
    options.cache_bytes = cache;
    Engine engine(files.gguf_path(), options, {});
    Listener listener(engine);
    for (const RequestOptions& one : requests) {
      engine.submit(one);
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      CHECK(listener.end_of(static_cast<int32_t>(i)).tokens == alone.ended[i].tokens);
    }
    CHECK(listener.notices().size() == (cache == 1 ? 1 : 0));
  }
}

TEST_CASE("exec: cancelled requests do not wait for a slow link, nor does the end of the engine") {
  ExecFiles files{ExecModel{}};
  EngineOptions options = small_options();
  options.cache_bytes = 1;
  options.fetcher.link_bytes_per_s = 1;  // hours per expert
  const Watchdog watchdog("slow link", 60);
  Engine engine(files.gguf_path(), options, {});
  Listener listener(engine);
  for (int i = 0; i < 4; ++i) {
    const int32_t id = engine.submit(request({1, 2, 3}, 4));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    engine.cancel(id);
    CHECK(listener.end_of(id).reason == "cancelled");
  }
  engine.submit(request({1, 2, 3}, 4));
}

TEST_CASE("exec: a decode step that waits for fetches left behind can be cancelled") {
  ExecModel model;
  model.n_layer = 1;
  model.n_used = 1;
  ExecFiles files{model};
  const Watchdog watchdog("left behind on a slow link", 60);
  Engine engine(files.gguf_path(), small_options(), {});
  Listener listener(engine);
  // One slot, which holds the one expert that this request needs again and again.
  RequestOptions again = request({5}, 900);
  again.forced.assign(900, 5);
  const int32_t first = engine.submit(again);
  listener.wait_for_tokens(first, 2);
  CHECK(engine.set_cache(1).slots == 1);
  engine.set_link(1);
  // Others want other experts, so that the slot loads for hours and belongs to nobody.
  for (int32_t token = 6; token < 12; ++token) {
    const int32_t id = engine.submit(request({token}, 4));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    engine.cancel(id);
    (void)listener.end_of(id);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  engine.cancel(first);
  CHECK(listener.end_of(first).n_ends == 1);
}

TEST_CASE("exec: an unknown policy is refused where it is asked for") {
  ExecFiles files{ExecModel{}};
  Engine engine(files.gguf_path(), small_options(), {});
  Policy policy;
  policy.schedule = "odd";
  CHECK(has(error_of([&] { engine.set_policy(policy, false); }), "invalid: unknown schedule"));
  Listener listener(engine);
  CHECK(run_one(engine, listener, request({1}, 2)).reason == "length");
}

TEST_CASE("exec: sessions continue, are truncated, and are busy with one request") {
  ExecFiles files{ExecModel{}};
  EngineOptions options = small_options();
  Engine engine(files.gguf_path(), options, {});
  Listener listener(engine);
  const int32_t session = engine.requests().open_session();
  // Past one bucket of positions, and past two.
  const std::vector<int32_t> prompt = some_prompt(3, 300);
  const Ended once = run_one(engine, listener, request(prompt, 300, session));
  CHECK(once.reason == "length");
  CHECK(run_one(engine, listener, request(prompt, 300)).tokens == once.tokens);
  // Back to a short prefix, and forward again: what was computed in between does not show.
  const std::vector<int32_t> part(prompt.begin(), prompt.begin() + 16);
  const Ended other = run_one(engine, listener, request(part, 20, session));
  CHECK(other.tokens == run_one(engine, listener, request(part, 20)).tokens);
  CHECK(run_one(engine, listener, request(prompt, 300, session)).tokens == once.tokens);
  // The same prompt again computes only its last token.
  std::vector<Record> records;
  engine.drain(records);
  records.clear();
  (void)run_one(engine, listener, request(prompt, 1, session));
  engine.drain(records);
  int64_t n_prefilled = 0;
  for (const Record& record : records) {
    n_prefilled += record.event == static_cast<uint8_t>(Event::kPrefill) ? record.a : 0;
  }
  CHECK(n_prefilled == 1);

  CHECK(has(error_of([&] { engine.submit(request({}, 1)); }), "invalid: the prompt is empty"));
  CHECK(has(error_of([&] { engine.submit(request({1}, 1024)); }), "do not fit the context"));
  CHECK(has(error_of([&] { engine.submit(request({1}, -1)); }), "invalid: max_tokens -1"));
  CHECK(has(error_of([&] { engine.submit(request({kExecVocab}, 1)); }), "invalid: token 272"));
  CHECK(has(error_of([&] { engine.submit(request({-1}, 1)); }), "invalid: token -1"));
  CHECK(has(error_of([&] { engine.submit(request({1}, 1, 77)); }), "session 77 does not exist"));
  engine.close_session(session);
  CHECK(has(error_of([&] { engine.close_session(session); }), "does not exist"));
}

TEST_CASE("exec: nothing grows over 2,000 steps with changing neighbours") {
  ExecFiles files{ExecModel{}};
  EngineOptions options = small_options();
  options.model.store = StoreKind::kGguf;
  options.cache_bytes = 600000;
  Engine engine(files.gguf_path(), options, {});
  Listener listener(engine);
  size_t settled = 0;
  uint64_t n_steps = 0;
  for (uint32_t round = 0; n_steps < 2600; ++round) {
    std::vector<int32_t> ids;
    for (uint32_t i = 0; i < 3; ++i) {
      ids.push_back(
          engine.submit(request(some_prompt(round * 3 + i, 5), 30 + 7 * static_cast<int32_t>(i))));
    }
    for (const int32_t id : ids) {
      REQUIRE(listener.end_of(id).reason == "length");
    }
    n_steps = engine.stats().steps;
    if (n_steps > 600 && settled == 0) {
      settled = resident_bytes();
    }
  }
  const size_t grown = resident_bytes() - std::min(settled, resident_bytes());
  CAPTURE(grown);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  CHECK(grown < (size_t{2} << 20));
#endif
  CHECK(engine.stats().steps >= 2600);
}

TEST_CASE("exec: a session with a request in flight refuses a second one") {
  ExecFiles files{ExecModel{}};
  EngineOptions options = small_options();
  options.cache_bytes = 1;
  options.fetcher.link_bytes_per_s = 1;  // hours per expert: the first does not end by itself
  Engine engine(files.gguf_path(), options, {});
  Listener listener(engine);
  const int32_t session = engine.requests().open_session();
  const int32_t first = engine.submit(request({1}, 4, session));
  CHECK(has(error_of([&] { engine.submit(request({2}, 1, session)); }),
            "already has a request in flight"));
  engine.cancel(first);
  CHECK(listener.end_of(first).reason == "cancelled");
  const int32_t second = engine.submit(request({2}, 1, session));
  engine.cancel(second);
  CHECK(listener.end_of(second).reason == "cancelled");
}

}  // namespace runahead::test
