#include "environment.h"

#include <algorithm>
#include <chrono>

namespace arrow_scan {
namespace {

// How long an environment's end waits for DuckDB to let go of pinned buffers. A statement ends at its
// next get_next; what takes longer is a result that nobody reads, whose end comes with the environment.
constexpr auto kLongestWaitAtEnd = std::chrono::seconds(2);

constexpr const char* kEnded = "the JavaScript environment that feeds this stream has ended";

}  // namespace

Environment* Environment::Of(napi_env env) {
  void* data = nullptr;
  if (napi_get_instance_data(env, &data) == napi_ok && data != nullptr) return static_cast<Environment*>(data);
  std::shared_ptr<Environment> environment(new Environment());
  napi_value name;
  if (napi_create_string_utf8(env, "duckdb-arrow-scan", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, environment.get(), OnWake,
                                      &environment->wake_function_) != napi_ok) {
    return nullptr;
  }
  // Waiting for DuckDB never keeps a process alive: a running statement does that by itself.
  napi_unref_threadsafe_function(env, environment->wake_function_);
  // Hooks run in reverse order: this one before the one that frees the threadsafe function (E3).
  if (napi_add_env_cleanup_hook(env, OnEnd, environment.get()) != napi_ok ||
      napi_set_instance_data(env, environment.get(), nullptr, nullptr) != napi_ok) {
    return nullptr;
  }
  environment->self_ = environment;
  return environment.get();
}

napi_status Environment::SetWake(napi_env env, napi_value on_wake) {
  if (on_wake_ != nullptr) napi_delete_reference(env, on_wake_);
  return napi_create_reference(env, on_wake, 1, &on_wake_);
}

void Environment::Register(const std::shared_ptr<RecordBatchStream>& stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(), [](const auto& each) { return each.expired(); }),
                 streams_.end());
  streams_.push_back(stream);
}

void Environment::Sweep(napi_env env) {
  std::vector<napi_ref> discarded;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    discarded.swap(discarded_);
  }
  for (napi_ref reference : discarded) napi_delete_reference(env, reference);  // E1
}

void Environment::FailAll(const std::string& message) {
  std::vector<std::weak_ptr<RecordBatchStream>> streams;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    streams = streams_;
  }
  for (const auto& each : streams) {
    if (const auto stream = each.lock()) stream->Fail(message);
  }
}

void Environment::WakeLocked() {
  if (!alive_ || wake_pending_) return;
  if (napi_call_threadsafe_function(wake_function_, nullptr, napi_tsfn_nonblocking) == napi_ok) wake_pending_ = true;
}

void Environment::Wake() {
  std::lock_guard<std::mutex> lock(mutex_);
  WakeLocked();
}

void Environment::Discard(std::vector<napi_ref> references, int64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  pinned_batches_--;
  if (pinned_batches_ == 0) unpinned_.notify_all();
  if (!alive_) return;
  discarded_.insert(discarded_.end(), references.begin(), references.end());
  ReleaseLocked(number);
  WakeLocked();
}

void Environment::ReleaseLocked(int64_t number) {
  if (alive_ && number != 0) released_.push_back(number);
}

void Environment::Release(int64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  ReleaseLocked(number);
}

std::vector<int64_t> Environment::TakeReleased() {
  std::vector<int64_t> released;
  std::lock_guard<std::mutex> lock(mutex_);
  released.swap(released_);
  return released;
}

void Environment::AddPinned(int64_t batches) {
  std::lock_guard<std::mutex> lock(mutex_);
  pinned_batches_ += batches;
}

void Environment::OnWake(napi_env env, napi_value, void* context, void*) {
  // Null while the environment ends.
  if (env == nullptr) return;
  auto* environment = static_cast<Environment*>(context);
  {
    std::lock_guard<std::mutex> lock(environment->mutex_);
    environment->wake_pending_ = false;
  }
  environment->Sweep(env);
  napi_value on_wake;
  napi_value global;
  if (environment->on_wake_ != nullptr && napi_get_reference_value(env, environment->on_wake_, &on_wake) == napi_ok &&
      on_wake != nullptr && napi_get_global(env, &global) == napi_ok) {
    const napi_status status = napi_call_function(env, global, on_wake, 0, nullptr, nullptr);
    bool threw = false;
    if (status != napi_ok && napi_is_exception_pending(env, &threw) == napi_ok && !threw) {
      // No exception, and yet no call: the environment is being stopped (T3).
      environment->FailAll(kEnded);
    }
  }
}

void Environment::OnEnd(void* data) {
  auto* environment = static_cast<Environment*>(data);
  environment->FailAll(kEnded);
  std::unique_lock<std::mutex> lock(environment->mutex_);
  environment->unpinned_.wait_for(lock, kLongestWaitAtEnd, [&] { return environment->pinned_batches_ == 0; });
  environment->alive_ = false;
  environment->discarded_.clear();
  environment->released_.clear();
  lock.unlock();
  // Whoever still pins something holds the object by itself; else it dies here.
  const std::shared_ptr<Environment> self = std::move(environment->self_);
}

std::unique_ptr<PinnedBuffers> PinnedBuffers::Pin(napi_env env, Environment* environment,
                                                  const std::vector<napi_value>& buffers, int64_t number) {
  std::unique_ptr<PinnedBuffers> pinned(new PinnedBuffers(environment->self(), number));
  environment->AddPinned(1);
  pinned->references_.reserve(buffers.size());
  for (napi_value buffer : buffers) {
    napi_ref reference;
    if (napi_create_reference(env, buffer, 1, &reference) != napi_ok) return nullptr;
    pinned->references_.push_back(reference);
  }
  return pinned;
}

PinnedBuffers::~PinnedBuffers() { environment_->Discard(std::move(references_), number_); }

}  // namespace arrow_scan
