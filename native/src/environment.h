// What the addon keeps per JavaScript environment (main thread or worker): a way to wake it, the
// references to be deleted on its thread, and its open streams.
//
// Rules E1 to E4 of record_batch_stream.h live here.
#pragma once

#include <node_api.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "record_batch.h"
#include "record_batch_stream.h"

namespace arrow_scan {

class Environment {
 public:
  // Makes the environment's data, or finds it. JS thread. Null, with a pending exception, on failure.
  static Environment* Of(napi_env env);

  // JS thread. `on_wake` is called there after DuckDB made room or released batches; once for any number of events.
  napi_status SetWake(napi_env env, napi_value on_wake);
  void Register(const std::shared_ptr<RecordBatchStream>& stream);
  // Deletes the references that other threads left here (E2). JS thread.
  void Sweep(napi_env env);
  // Fails every open stream. JS thread.
  void FailAll(const std::string& message);

  // Any thread; cheap. The JS thread will sweep and call `on_wake` (E2).
  void Wake();
  // Any thread: these references may go. After the environment's end they went with it. `number` is as for Release.
  void Discard(std::vector<napi_ref> references, int64_t number);
  // Any thread: what was pushed with this number is read by nobody any more (E4). 0: nobody asked.
  void Release(int64_t number);
  // JS thread. The numbers released since the last call.
  std::vector<int64_t> TakeReleased();
  // Counts what is pinned, for the wait of E3.
  void AddPinned(int64_t batches);

  // For those on other threads, who may outlive the environment.
  std::shared_ptr<Environment> self() { return self_; }

 private:
  Environment() = default;
  static void OnWake(napi_env env, napi_value function, void* context, void* data);
  static void OnEnd(void* data);
  void WakeLocked();
  void ReleaseLocked(int64_t number);

  std::shared_ptr<Environment> self_;
  std::mutex mutex_;
  std::condition_variable unpinned_;
  bool alive_ = true;
  bool wake_pending_ = false;
  int64_t pinned_batches_ = 0;
  std::vector<napi_ref> discarded_;
  std::vector<int64_t> released_;
  std::vector<std::weak_ptr<RecordBatchStream>> streams_;
  napi_threadsafe_function wake_function_ = nullptr;
  napi_ref on_wake_ = nullptr;
};

// Pins ArrayBuffers of one environment (B1, E1).
class PinnedBuffers final : public BufferOwner {
 public:
  // JS thread. Null, with nothing pinned, on failure. The owner of a batch that asked for notice is told by `number`;
  // 0: it didn't.
  static std::unique_ptr<PinnedBuffers> Pin(napi_env env, Environment* environment,
                                            const std::vector<napi_value>& buffers, int64_t number);
  ~PinnedBuffers() override;

 private:
  PinnedBuffers(std::shared_ptr<Environment> environment, int64_t number)
      : environment_(std::move(environment)), number_(number) {}

  std::shared_ptr<Environment> environment_;
  int64_t number_;
  std::vector<napi_ref> references_;
};

}  // namespace arrow_scan
