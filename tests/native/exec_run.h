// exec_run.h
//
// What the tests of the engine run it with: a model on disk with its pack, a watchdog against
// hangs, and a Listener that collects what happened to every request.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exec/engine.h"
#include "exec_model.h"
#include "store/pack_writer.h"
#include "store_errors.h"

namespace runahead::test {

// Ends the process, with what was going on, unless it is destroyed in time.
class Watchdog {
 public:
  explicit Watchdog(std::string what, int seconds = 120)
      : what_(std::move(what)), thread_([this, seconds](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
          if (!gone_.wait_until(lock, stop, until, [&] { return stop.stop_requested(); })) {
            std::fprintf(stderr, "hangs: %s\n", what_.c_str());
            std::abort();
          }
        }) {}

 private:
  std::string what_;
  std::mutex mutex_;
  std::condition_variable_any gone_;
  std::jthread thread_;
};

// A model's GGUF and pack in a folder of their own.
class ExecFiles {
 public:
  explicit ExecFiles(const ExecModel& model) : ExecFiles(model.builder()) {}
  explicit ExecFiles(const GgufBuilder& builder) { builder.write(gguf_path()); }

  [[nodiscard]] std::string gguf_path() const { return folder_ / "model.gguf"; }
  [[nodiscard]] std::string pack_path(WeightLayout layout) {
    const std::string path =
        folder_ / (layout == WeightLayout::kPlain ? "plain.pack" : "repacked.pack");
    if (!std::filesystem::exists(path)) {
      const GgufFile file = GgufFile::open(gguf_path());
      const auto family = make_family(file);
      (void)write_pack(family_experts(file, family->read_hparams(file)), path, layout, {});
    }
    return path;
  }

 private:
  GgufFolder folder_;
};

inline EngineOptions small_options() {
  EngineOptions options;
  options.model.store = StoreKind::kMemory;
  options.model.n_threads = 1;  // no team of OpenMP threads, which sanitizers cannot follow
  options.model.max_requests = 4;
  options.model.context = 1024;
  options.model.prefill_chunk = 16;
  options.fetcher.n_readers = 2;
  return options;
}

struct Ended {
  int n_ends = 0;
  std::string reason;
  std::string detail;
  std::vector<int32_t> tokens;
};

// The one reader of an engine's events; others wait for what it has seen.
class Listener {
 public:
  explicit Listener(Engine& engine)
      : engine_(engine), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (engine_.requests().wait(0.01)) {
              take(engine_.requests().poll());
            }
          }
        }) {}

  // Waits for the request's end.
  Ended end_of(int32_t request) {
    std::unique_lock lock(mutex_);
    news_.wait(lock, [&] { return ended_[request].n_ends > 0; });
    return ended_[request];
  }
  void wait_for_tokens(int32_t request, size_t n) {
    std::unique_lock lock(mutex_);
    news_.wait(lock,
               [&] { return ended_[request].tokens.size() >= n || ended_[request].n_ends > 0; });
  }
  std::map<int32_t, Ended> all() {
    const std::lock_guard guard(mutex_);
    return ended_;
  }
  std::vector<std::string> notices() {
    const std::lock_guard guard(mutex_);
    return notices_;
  }

 private:
  void take(const std::vector<EngineEvent>& events) {
    const std::lock_guard guard(mutex_);
    for (const EngineEvent& event : events) {
      if (event.kind == EngineEvent::Kind::kToken) {
        ended_[event.request].tokens.push_back(static_cast<int32_t>(event.a));
      } else if (event.kind == EngineEvent::Kind::kNotice) {
        notices_.push_back(event.text);
      } else if (event.kind == EngineEvent::Kind::kEnd) {
        Ended& ended = ended_[event.request];
        ++ended.n_ends;
        ended.reason = event.text;
        ended.detail = event.detail;
      }
    }
    news_.notify_all();
  }

  Engine& engine_;
  std::mutex mutex_;
  std::condition_variable news_;
  std::map<int32_t, Ended> ended_;
  std::vector<std::string> notices_;
  std::jthread thread_;
};

// Runs one request to its end.
inline Ended run_one(Engine& engine, Listener& listener, const RequestOptions& options) {
  return listener.end_of(engine.submit(options));
}

// The experts that each request asked for, from the trace, as (layer, expert).
using Experts = std::set<std::pair<int32_t, int32_t>>;
inline std::map<int32_t, Experts> asked_experts(const std::vector<Record>& records) {
  std::map<int32_t, Experts> asked;
  for (const Record& record : records) {
    const auto event = static_cast<Event>(record.event);
    if (event == Event::kHit || event == Event::kJoin || event == Event::kMiss) {
      asked[record.request].insert({record.layer, record.expert});
    }
  }
  return asked;
}

inline std::vector<int32_t> some_prompt(uint32_t seed, int32_t n) {
  std::vector<int32_t> prompt;
  uint32_t state = seed * 2654435761U + 12345;
  for (int32_t i = 0; i < n; ++i) {
    state = state * 1664525 + 1013904223;
    prompt.push_back(static_cast<int32_t>((state >> 16) % 256));
  }
  return prompt;
}

// A reply of `n` tokens, whatever they are.
inline RequestOptions request(std::vector<int32_t> prompt, int32_t n, int32_t session = -1) {
  RequestOptions options;
  options.prompt = std::move(prompt);
  options.max_tokens = n;
  options.ignore_end = true;
  options.session = session;
  return options;
}

}  // namespace runahead::test
