// bind/engine.cpp: engine->_native.Engine. Blocking calls release the GIL.

#include "exec/engine.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <mutex>

#include "bind/arrays.h"
#include "bind/bindings.h"
#include "bind/progress.h"
#include "bind/text.h"

namespace nb = nanobind;

namespace runahead {
namespace {

StoreKind store_named(const std::string& name) {
  if (name == "pack") {
    return StoreKind::kPack;
  }
  if (name == "gguf") {
    return StoreKind::kGguf;
  }
  if (name == "memory") {
    return StoreKind::kMemory;
  }
  throw Error(ErrorCode::kInvalid, "store '" + name + "' is not 'pack', 'gguf' or 'memory'");
}

const char* name_of(StoreKind kind) {
  return kind == StoreKind::kPack ? "pack" : kind == StoreKind::kGguf ? "gguf" : "memory";
}

const char* name_of(JobState state) {
  switch (state) {
    case JobState::kRouting: return "routing";
    case JobState::kBlocked: return "blocked";
    case JobState::kReady: return "ready";
    case JobState::kRunning: return "running";
    case JobState::kDone: return "done";
  }
  return "";
}

// The largest resident size of this process so far, in bytes.
uint64_t peak_bytes() {
#ifdef __linux__
  // ru_maxrss would include the parent's peak before exec.
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) {
      return std::stoull(line.substr(6)) * 1024;
    }
  }
  return 0;
#else
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss);  // bytes on macOS
#endif
}

// Keeps the engine alive while a call is inside it, also when another thread closes it.
class Handle {
 public:
  explicit Handle(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}
  [[nodiscard]] std::shared_ptr<Engine> get() const {
    const std::lock_guard guard(mutex_);
    if (engine_ == nullptr) {
      throw Error(ErrorCode::kInvalid, "the engine is closed");
    }
    return engine_;
  }
  void close() {
    std::shared_ptr<Engine> engine;
    {
      const std::lock_guard guard(mutex_);
      engine.swap(engine_);
    }
    if (engine != nullptr) {
      engine->stop();  // calls inside it in other threads end soon, and with the last of them its
                       // memory
    }
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<Engine> engine_;
};

void open(Handle* self, const std::string& model_path, const std::string& store,
          const std::string& pack_path, uint64_t cache_bytes, const std::string& policy,
          int32_t n_threads, int32_t n_readers, uint64_t link_bytes_per_s, int32_t max_requests,
          int32_t context, int32_t prefill_chunk, bool verify_reads, bool staged,
          uint64_t fault_seed, nb::object progress) {
  EngineOptions options;
  options.model.store = store_named(store);
  options.model.pack_path = pack_path;
  options.cache_bytes = cache_bytes;
  options.policy = parse_policy(policy);
  options.model.n_threads = n_threads;
  options.fetcher.n_readers = n_readers;
  options.fetcher.link_bytes_per_s = link_bytes_per_s;
  options.model.max_requests = max_requests;
  options.model.context = context;
  options.model.prefill_chunk = prefill_chunk;
  options.model.verify_reads = verify_reads;
  options.model.staged = staged;
  options.model.fault_seed = fault_seed;
  PythonProgress report(std::move(progress));
  const nb::gil_scoped_release release;
  new (self) Handle(std::make_shared<Engine>(model_path, options,
                                             [&](const char* stage, uint64_t done, uint64_t total) {
                                               return report(stage, done, total);
                                             }));
}

nb::dict cache_dict(const CacheSize& size) {
  nb::dict out;
  out["cache_bytes"] = size.bytes;
  out["cache_slots"] = size.slots;
  out["reason"] = size.reason;
  return out;
}

nb::dict info(Handle& handle) {
  const auto engine = handle.get();
  const Hparams& h = engine->model().hparams();
  const StoreLayout& layout = engine->model().layout();
  uint64_t record_bytes = 0;
  int64_t n_experts = 0;
  for (size_t c = 0; c < layout.classes.size(); ++c) {
    record_bytes = std::max(record_bytes, layout.classes[c].record_bytes);
    n_experts += layout.n_experts_in(static_cast<int32_t>(c));
  }
  const EngineStats stats = engine->stats();
  nb::dict out;
  out["architecture"] = h.architecture;
  out["n_layer"] = h.n_layer();
  out["n_moe_layer"] = h.n_job();
  out["n_embd"] = h.n_embd;
  out["n_expert"] = h.n_expert;
  out["n_expert_used"] = h.n_expert_used;
  out["n_vocab"] = h.n_vocab;
  out["context"] = engine->options().model.context;
  out["record_bytes"] = record_bytes;
  out["n_experts_total"] = n_experts;
  out["experts_total_bytes"] = layout.total_bytes();
  out["resident_bytes"] = engine->model().weights().bytes();
  out["store"] = name_of(engine->options().model.store);
  out["weight_layout"] = layout.weights == WeightLayout::kPlain ? "plain" : "repacked";
  out["device"] = engine->model().device().name();
  out["n_threads"] = engine->model().device().n_threads();
  out["n_readers"] = engine->options().fetcher.n_readers;
  out["chat_template"] = text_or_none(engine->model().chat_template());
  out["bos_token"] = engine->model().vocab().bos();
  out["eos_token"] = engine->model().vocab().eos();
  out["add_bos"] = engine->model().vocab().adds_bos();
  out["cache_slots"] = stats.cache_slots;
  out["cache_bytes"] = stats.cache_bytes;
  out["min_cache_bytes"] = engine->min_cache_bytes();
  return out;
}

int32_t submit(Handle& handle, std::vector<int32_t> tokens, int32_t session, int32_t max_tokens,
               uint32_t seed, float temperature, int32_t top_k, float top_p, float min_p,
               float repeat_penalty, std::string grammar, bool ignore_end,
               std::vector<int32_t> forced, bool keep_logits) {
  RequestOptions options;
  options.prompt = std::move(tokens);
  options.session = session;
  options.max_tokens = max_tokens;
  options.sampler = {seed, temperature, top_k, top_p, min_p, repeat_penalty, std::move(grammar)};
  options.ignore_end = ignore_end;
  options.forced = std::move(forced);
  options.keep_logits = keep_logits;
  const auto engine = handle.get();
  const nb::gil_scoped_release release;
  return engine->submit(std::move(options));
}

nb::list poll(Handle& handle) {
  const auto engine = handle.get();
  std::vector<EngineEvent> events;
  {
    const nb::gil_scoped_release release;
    events = engine->requests().poll();
  }
  nb::list out;
  for (const EngineEvent& event : events) {
    switch (event.kind) {
      case EngineEvent::Kind::kPrefill:
        out.append(nb::make_tuple(event.request, "prefill", event.a, event.b));
        break;
      case EngineEvent::Kind::kToken:
        out.append(nb::make_tuple(event.request, "token", event.a,
                                  nb::bytes(event.text.data(), event.text.size())));
        break;
      case EngineEvent::Kind::kEnd:
        out.append(nb::make_tuple(event.request, "end", event.text, event.detail));
        break;
      case EngineEvent::Kind::kNotice: out.append(nb::make_tuple(-1, "notice", event.text)); break;
    }
  }
  return out;
}

Array<float, 2> take_logits(Handle& handle, int32_t request) {
  const auto engine = handle.get();
  std::vector<float> logits = engine->requests().take_logits(request);
  const auto n_vocab = static_cast<size_t>(engine->model().hparams().n_vocab);
  const size_t n = logits.size() / n_vocab;
  return array_of(std::move(logits), {n, n_vocab});
}

nb::dict stats(Handle& handle) {
  const auto engine = handle.get();
  EngineStats s;
  {
    const nb::gil_scoped_release release;
    s = engine->stats();
  }
  nb::dict out;
  out["steps"] = s.steps;
  out["hits"] = s.cache.hits;
  out["misses"] = s.cache.misses;
  out["joined"] = s.cache.joined;
  out["evicted"] = s.cache.evicted;
  out["prefetched"] = s.cache.prefetched;
  out["prefetch_used"] = s.cache.prefetch_used;
  // Those of the step in progress may be used yet.
  out["wasted"] = s.cache.prefetched - s.cache.prefetch_used;
  out["failed"] = s.cache.failed;
  out["fetched_bytes"] = s.fetched_bytes;
  out["cache_slots"] = s.cache_slots;
  out["cache_in_use"] = s.cache_in_use;
  out["cache_bytes"] = s.cache_bytes;
  out["active_requests"] = s.active_requests;
  out["queued_requests"] = s.queued_requests;
  out["dropped_records"] = s.dropped_records;
  out["peak_bytes"] = peak_bytes();
  return out;
}

nb::tuple drain(Handle& handle) {
  const auto engine = handle.get();
  std::vector<Record> records;
  {
    const nb::gil_scoped_release release;
    engine->drain(records);
  }
  return nb::make_tuple(nb::bytes(records.data(), records.size() * sizeof(Record)),
                        engine->stats().dropped_records);
}

nb::dict take_routing(Handle& handle) {
  const auto engine = handle.get();
  RoutingRows rows;
  {
    const nb::gil_scoped_release release;
    rows = engine->routing_log().take();
  }
  const Hparams& h = engine->model().hparams();
  const auto n_expert = static_cast<size_t>(h.n_expert);
  const size_t n = rows.step.size();
  nb::dict out;
  out["step"] = array_of(std::move(rows.step), {n});
  out["request"] = array_of(std::move(rows.request), {n});
  out["layer"] = array_of(std::move(rows.layer), {n});
  out["experts"] = array_of(std::move(rows.experts), {n, static_cast<size_t>(h.n_expert_used)});
  out["probabilities"] = array_of(std::move(rows.probabilities), {n, n_expert});
  out["lookahead"] =
      array_of(std::move(rows.lookahead), {n, static_cast<size_t>(rows.n_lookahead), n_expert});
  out["dropped"] = rows.dropped;
  return out;
}

nb::list progress_table(Handle& handle) {
  const auto engine = handle.get();
  nb::list out;
  for (const JobStatus& job : engine->progress_table()) {
    out.append(nb::make_tuple(to_int(job.request), job.layer, name_of(job.state), job.missing));
  }
  return out;
}

}  // namespace

void bind_engine(nb::module_& m) {
  using Release = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Handle>(m, "Engine", "One open model. Thread-safe; blocking calls release the GIL.")
      .def("__init__", &open, nb::arg("model_path"), nb::kw_only(), nb::arg("store") = "pack",
           nb::arg("pack_path") = "", nb::arg("cache_bytes") = 0, nb::arg("policy") = "bevy",
           nb::arg("n_threads") = 0, nb::arg("n_readers") = 8, nb::arg("link_bytes_per_s") = 0,
           nb::arg("max_requests") = 16, nb::arg("context") = 4096, nb::arg("prefill_chunk") = 512,
           nb::arg("verify_reads") = false, nb::arg("staged") = false, nb::arg("fault_seed") = 0,
           nb::arg("progress").none() = nb::none())
      .def("info", &info)
      .def(
          "tokenize",
          [](Handle& e, const std::string& text, bool add_special, bool parse_special) {
            return e.get()->model().vocab().tokenize(text, add_special, parse_special);
          },
          nb::arg("text"), nb::arg("add_special") = true, nb::arg("parse_special") = true,
          Release())
      .def(
          "token_piece",
          [](Handle& e, int32_t token, bool special) {
            const std::string piece = e.get()->model().vocab().piece(token, special);
            return nb::bytes(piece.data(), piece.size());
          },
          nb::arg("token"), nb::arg("special") = false)
      .def(
          "is_end", [](Handle& e, int32_t token) { return e.get()->model().vocab().is_end(token); },
          nb::arg("token"))
      .def("submit", &submit, nb::arg("tokens"), nb::kw_only(), nb::arg("session") = -1,
           nb::arg("max_tokens") = 128, nb::arg("seed") = 0, nb::arg("temperature") = 0.0F,
           nb::arg("top_k") = 40, nb::arg("top_p") = 0.95F, nb::arg("min_p") = 0.05F,
           nb::arg("repeat_penalty") = 1.0F, nb::arg("grammar") = "", nb::arg("ignore_end") = false,
           nb::arg("forced") = std::vector<int32_t>(), nb::arg("keep_logits") = false,
           "Queue a request; its id. Raises NativeError('invalid', ...) when it cannot be served.")
      .def(
          "open_session", [](Handle& e) { return e.get()->requests().open_session(); }, Release())
      .def(
          "close_session", [](Handle& e, int32_t session) { e.get()->close_session(session); },
          nb::arg("session"), Release())
      .def(
          "cancel", [](Handle& e, int32_t request) { e.get()->cancel(request); },
          nb::arg("request"), Release())
      .def(
          "wait", [](Handle& e, double timeout_s) { return e.get()->requests().wait(timeout_s); },
          nb::arg("timeout_s"), Release(),
          "Until poll() has something, or the time is over; True when it has.")
      .def("poll", &poll, "All events since the last call, in order.")
      .def("take_logits", &take_logits, nb::arg("request"))
      .def(
          "set_cache",
          [](Handle& e, uint64_t bytes) {
            CacheSize size;
            {
              const nb::gil_scoped_release release;
              size = e.get()->set_cache(bytes);
            }
            return cache_dict(size);
          },
          nb::arg("bytes"), "Resize the expert cache, also while requests run.")
      .def(
          "set_policy",
          [](Handle& e, const std::string& text, bool cold) {
            e.get()->set_policy(parse_policy(text), cold);
          },
          nb::arg("policy"), nb::arg("cold") = false, Release())
      .def(
          "set_link", [](Handle& e, uint64_t bytes_per_s) { e.get()->set_link(bytes_per_s); },
          nb::arg("bytes_per_s"), Release())
      .def("stats", &stats)
      .def("drain", &drain,
           "Trace records since the last call as bytes of RECORD_DTYPE, and how many were ever "
           "dropped.")
      .def(
          "record_routing",
          [](Handle& e, int32_t n_lookahead) { e.get()->routing_log().record(n_lookahead); },
          nb::arg("n_lookahead"),
          "Keep what the routers of decode steps say, with those of so many later layers reading "
          "the same; -1: off. Forgets what has not been taken.")
      .def("take_routing", &take_routing,
           "What was kept since the last call, one row per step, request and layer.")
      .def("progress_table", &progress_table)
      .def("close", &Handle::close, Release(),
           "Cancel what runs and free the model. Closing twice is fine.");
}

}  // namespace runahead
