#include "exec/engine.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace runahead {
namespace {

// Records of resizes and their evictions, kept until they are drained.
constexpr size_t kMaxResizes = 1 << 16;

ModelShape shape_of(const Hparams& h) {
  return {h.n_job(), h.n_expert, h.n_expert_used};
}

std::string megabytes(uint64_t bytes) {
  return std::to_string(bytes / 1000000) + " MB";
}

}  // namespace

Engine::Engine(const std::string& model_path, const EngineOptions& options,
               const OpenProgress& progress)
    : options_(options),
      model_(model_path, options.model, progress),
      hparams_(model_.hparams()),
      routing_log_(shape_of(hparams_)),
      requests_([this] {
        const auto type = model_.device().buffer_type();
        return std::make_unique<Session>(KvCache(hparams_, type, options_.model.context),
                                         RecurrentState(hparams_, type));
      }) {
  check_between("n_readers", options.fetcher.n_readers, 1, 64);
  feed_ = std::make_unique<ExpertFeed>(model_.store(), model_.pools(), options.policy,
                                       shape_of(hparams_), options.fetcher);
  const int32_t max_requests = options.model.max_requests;
  const int32_t chunk = options.model.prefill_chunk;
  memory_ =
      std::make_unique<DeviceMemory>(model_.device(), hparams_, model_.weights(), model_.pools(),
                                     model_.layout().class_of_layer, max_requests, chunk);
  forward_ =
      std::make_unique<Forward>(model_.device(), model_.family(), hparams_, *memory_, max_requests);
  stepper_ = std::make_unique<Stepper>(*forward_, *feed_, tracer_, hparams_, routing_log_, chunk);
  loop_ = std::make_unique<RequestLoop>(*stepper_, requests_, tracer_, model_.vocab(), hparams_,
                                        max_requests);
  set_cache(options.cache_bytes == 0 ? model_.layout().total_bytes() : options.cache_bytes);
  thread_ = std::jthread([this] { run(); });
}

void Engine::stop() {
  requests_.close();
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  wake();
}

Engine::~Engine() {
  stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

// The engine thread sleeps on its own condition between steps and on the feed's within one. Each is
// told under its lock, else it could be missed between a look and the wait.
void Engine::wake() {
  {
    const std::lock_guard guard(mutex_);
    work_.notify_all();
  }
  const auto lock = feed_->lock();
  feed_->notify();
}

int32_t Engine::submit(RequestOptions options) {
  const int32_t context = options_.model.context;
  const auto n_prompt = static_cast<int64_t>(options.prompt.size());
  if (n_prompt == 0) {
    throw Error(ErrorCode::kInvalid, "the prompt is empty");
  }
  check_between("max_tokens", options.max_tokens, 0, context);
  if (n_prompt + options.max_tokens > context) {
    throw Error(ErrorCode::kInvalid,
                "a prompt of " + std::to_string(n_prompt) + " tokens and a reply of up to " +
                    std::to_string(options.max_tokens) + " do not fit the context of " +
                    std::to_string(context) +
                    "; shorten the prompt, ask for fewer tokens, or open the model with a larger "
                    "context");
  }
  if (!options.forced.empty() && !options.sampler.grammar.empty()) {
    throw Error(ErrorCode::kInvalid, "forced tokens and a grammar exclude each other");
  }
  for (const std::vector<int32_t>* tokens : {&options.prompt, &options.forced}) {
    for (const int32_t token : *tokens) {
      check_between("token", token, 0, hparams_.n_vocab - 1);
    }
  }
  auto request = std::make_unique<Request>();
  request->sampler = std::make_unique<Sampler>(model_.vocab(), options.sampler);
  request->options = std::move(options);
  const int32_t id = requests_.submit(std::move(request));
  wake();
  return id;
}

void Engine::close_session(int32_t session) {
  requests_.close_session(session);
  wake();
}

void Engine::cancel(int32_t request) {
  requests_.cancel(request);
  wake();
}

uint64_t Engine::min_cache_bytes() const {
  uint64_t bytes = 0;
  for (const SlotClass& c : model_.layout().classes) {
    bytes += c.record_bytes * static_cast<uint64_t>(hparams_.n_expert_used);
  }
  return bytes;
}

CacheSize Engine::cache_size(std::string reason) {
  CacheSize size;
  size.reason = std::move(reason);
  for (size_t c = 0; c < model_.pools().size(); ++c) {
    const int32_t slots = feed_->cache().capacity(static_cast<int32_t>(c));
    size.slots += slots;
    size.bytes += static_cast<uint64_t>(slots) * model_.pools()[c]->record_bytes();
  }
  return size;
}

CacheSize Engine::set_cache(uint64_t bytes) {
  const auto lock = feed_->lock();
  std::string reason;
  const uint64_t total = model_.layout().total_bytes();
  if (bytes > total) {
    reason = "all experts take " + megabytes(total) + ", so more would stay unused";
  }
  // A step that has begun must be able to end: never below the deadlock rule (paper 4.4).
  const bool running = !feed_->scheduler().step_finished();
  const int32_t n_requests =
      running ? static_cast<int32_t>(feed_->scheduler().progress_table().size()) : 1;
  const int32_t needed = Scheduler::slots_needed(n_requests, hparams_.n_expert_used);
  feed_->cache().let_all_prefetches_go();  // guesses do not stand in the way
  std::vector<int32_t> slots = feed_->slots_for(bytes);
  for (size_t c = 0; c < slots.size(); ++c) {
    const int32_t least = std::min(needed + feed_->cache().lent(static_cast<int32_t>(c)),
                                   model_.pools()[c]->max_slots());
    if (slots[c] < least) {
      slots[c] = least;
      reason = std::to_string(n_requests) + " request(s) choose " +
               std::to_string(hparams_.n_expert_used) +
               " experts each at a layer, so fewer slots could not serve them";
    }
  }
  const int64_t before = cache_size("").slots;
  const std::vector<ExpertId> evicted = feed_->set_slots(slots);
  CacheSize size = cache_size(reason);
  Record record;
  record.begin_ns = record.end_ns = now_ns();
  if (resizes_.size() + evicted.size() < kMaxResizes) {
    for (const ExpertId& id : evicted) {
      record.event = static_cast<uint8_t>(Event::kEvict);
      record.layer = id.layer;
      record.expert = id.expert;
      resizes_.push_back(record);
    }
    record.event = static_cast<uint8_t>(Event::kResize);
    record.layer = record.expert = -1;
    record.a = before;
    record.b = size.slots;
    resizes_.push_back(record);
  }
  return size;
}

void Engine::set_policy(const Policy& policy, bool cold) {
  validate(policy);  // here, where the caller hears of it
  const std::lock_guard guard(mutex_);
  new_policy_ = {policy, cold};
  work_.notify_all();
}

void Engine::set_link(uint64_t bytes_per_s) {
  feed_->fetcher().set_link(bytes_per_s);
}

EngineStats Engine::stats() {
  EngineStats stats;
  stats.active_requests = requests_.n_active();
  stats.queued_requests = requests_.n_queued();
  stats.steps = loop_->n_steps();
  const auto lock = feed_->lock();
  stats.cache = feed_->cache().counters();
  stats.fetched_bytes = feed_->fetched_bytes();
  const CacheSize size = cache_size("");
  stats.cache_slots = size.slots;
  stats.cache_bytes = size.bytes;
  for (size_t c = 0; c < model_.pools().size(); ++c) {
    stats.cache_in_use += feed_->cache().in_use(static_cast<int32_t>(c));
  }
  stats.dropped_records = tracer_.ring().dropped() + feed_->fetcher().dropped();
  return stats;
}

size_t Engine::drain(std::vector<Record>& out) {
  const std::lock_guard guard(drain_mutex_);
  size_t n = tracer_.ring().drain(out) + feed_->fetcher().drain(out);
  const auto lock = feed_->lock();
  n += resizes_.size();
  out.insert(out.end(), resizes_.begin(), resizes_.end());
  resizes_.clear();
  return n;
}

std::vector<JobStatus> Engine::progress_table() {
  const auto lock = feed_->lock();
  return feed_->scheduler().progress_table();
}

void Engine::run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      work_.wait(
          lock, [&] { return stop_ || new_policy_ || !loop_->idle() || requests_.n_queued() > 0; });
      if (stop_) {
        break;
      }
      if (new_policy_) {
        const auto [policy, cold] = *std::exchange(new_policy_, std::nullopt);
        lock.unlock();
        const auto feed = feed_->lock();
        feed_->set_policy(policy);
        if (cold) {
          feed_->cache().clear();
        }
        continue;
      }
    }
    loop_->turn();
    if (loop_->idle()) {
      check_idle();
    }
  }
  loop_->cancel_all();
}

void Engine::check_idle() {
  const auto lock = feed_->lock();
  const ExpertCache& cache = feed_->cache();
  cache.check_integrity();
  for (int32_t layer = 0; layer < hparams_.n_job(); ++layer) {
    for (int32_t expert = 0; expert < hparams_.n_expert; ++expert) {
      CHECK(cache.pins({layer, expert}) == 0);
    }
  }
}

}  // namespace runahead
