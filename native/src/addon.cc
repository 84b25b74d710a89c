// The JavaScript face of the addon: what index.js calls, each function once per stream or once per batch.
//
// All functions here run on the thread of their environment. Values that they are given stay the
// caller's, but for ArrayBuffers of a batch, which are pinned until DuckDB lets the batch go.
// Rules S1 to E4: record_batch_stream.h.

#include <dlfcn.h>
#include <node_api.h>

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "duckdb_library.h"
#include "environment.h"
#include "node_api_call.h"
#include "record_batch.h"
#include "record_batch_stream.h"

namespace arrow_scan {
namespace {

// Type tag of a connection of @duckdb/node-bindings.
constexpr napi_type_tag kConnectionTag = {0x922B9BF54AB04DFC, 0x8A258578D371DB71};
// Type tag of our own streams.
constexpr napi_type_tag kStreamTag = {0x4A9C17D05B6E42F3, 0xB1E8263F90C7D5AA};

// Recursion over a schema and its batches: far beyond what any engine takes.
constexpr int kDeepestSchema = 512;

napi_value Get(napi_env env, napi_value object, const char* key) {
  napi_value value;
  Check(napi_get_named_property(env, object, key, &value));
  return value;
}

napi_valuetype TypeOf(napi_env env, napi_value value) {
  napi_valuetype type;
  Check(napi_typeof(env, value, &type));
  return type;
}

bool IsMissing(napi_env env, napi_value value) {
  const napi_valuetype type = TypeOf(env, value);
  return type == napi_undefined || type == napi_null;
}

// --- Schema ---------------------------------------------------------------------------------------------

std::unique_ptr<SchemaNode> ToSchemaNode(napi_env env, napi_value value, int depth);

std::vector<std::unique_ptr<SchemaNode>> ToSchemaNodes(napi_env env, napi_value array, int depth) {
  bool is_array = false;
  Check(napi_is_array(env, array, &is_array));
  if (!is_array) throw TypeFault{"a schema's children must be an array"};
  uint32_t length = 0;
  Check(napi_get_array_length(env, array, &length));
  std::vector<std::unique_ptr<SchemaNode>> nodes;
  nodes.reserve(length);
  for (uint32_t i = 0; i < length; i++) {
    const HandleScope scope(env);
    napi_value child;
    Check(napi_get_element(env, array, i, &child));
    nodes.push_back(ToSchemaNode(env, child, depth));
  }
  return nodes;
}

std::unique_ptr<SchemaNode> ToSchemaNode(napi_env env, napi_value value, int depth) {
  if (depth > kDeepestSchema) throw TypeFault{"a schema is nested deeper than " + std::to_string(kDeepestSchema)};
  if (TypeOf(env, value) != napi_object) throw TypeFault{"a schema's field must be an object"};
  auto node = std::make_unique<SchemaNode>();
  node->name = ToCString(env, Get(env, value, "name"), "a field's name");
  node->format = ToCString(env, Get(env, value, "format"), "a field's format");
  std::string error;
  if (!ColumnLayout::FromFormat(node->format, &node->layout, &error)) {
    throw TypeFault{"column '" + node->name + "': " + error};
  }
  node->flags = ToInteger(env, Get(env, value, "flags"), "a field's flags");
  const napi_value metadata = Get(env, value, "metadata");
  if (!IsMissing(env, metadata)) {
    bool is_typed_array = false;
    Check(napi_is_typedarray(env, metadata, &is_typed_array));
    if (!is_typed_array) throw TypeFault{"column '" + node->name + "': metadata must be a Uint8Array or null"};
    napi_typedarray_type type;
    size_t length = 0;
    void* data = nullptr;
    Check(napi_get_typedarray_info(env, metadata, &type, &length, &data, nullptr, nullptr));
    if (type != napi_uint8_array) throw TypeFault{"column '" + node->name + "': metadata must be a Uint8Array or null"};
    if (length > 0) node->metadata.assign(static_cast<const char*>(data), length);
    if (length > 0 && !IsMetadata(node->metadata)) {
      throw TypeFault{"column '" + node->name + "': metadata isn't encoded as the C data interface says"};
    }
  }
  node->children = ToSchemaNodes(env, Get(env, value, "children"), depth + 1);
  if (node->layout.n_children >= 0 && node->layout.n_children != static_cast<int64_t>(node->children.size())) {
    throw TypeFault{"column '" + node->name + "': format " + node->format + " has " +
                    std::to_string(node->layout.n_children) + " children, got " +
                    std::to_string(node->children.size())};
  }
  const napi_value dictionary = Get(env, value, "dictionary");
  if (!IsMissing(env, dictionary)) node->dictionary = ToSchemaNode(env, dictionary, depth + 1);
  return node;
}

// --- Streams --------------------------------------------------------------------------------------------

StreamHandle* ToHandle(napi_env env, napi_value value) {
  bool is_stream = false;
  if (TypeOf(env, value) == napi_external) Check(napi_check_object_type_tag(env, value, &kStreamTag, &is_stream));
  if (!is_stream) throw TypeFault{"not a stream of this addon"};
  void* handle = nullptr;
  Check(napi_get_value_external(env, value, &handle));
  return static_cast<StreamHandle*>(handle);
}

std::shared_ptr<RecordBatchStream> ToStream(const Arguments& arguments) {
  // Alive as long as its External is: only the finalizer retires the handle.
  return ToHandle(arguments.env, arguments.values[0])->stream();
}

void FinalizeStream(napi_env, void* data, void*) { StreamHandle::Abandon(static_cast<StreamHandle*>(data)); }

// create(fields, capacityBatches, capacityBytes) → External
napi_value Create(const Arguments& arguments) {
  napi_env env = arguments.env;
  auto root = std::make_unique<SchemaNode>();
  root->format = "+s";
  std::string error;
  ColumnLayout::FromFormat(root->format, &root->layout, &error);
  root->children = ToSchemaNodes(env, arguments.values[0], 1);
  if (root->children.empty()) throw TypeFault{"a schema without fields can't be scanned"};
  StreamLimits limits{ToInteger(env, arguments.values[1], "capacityBatches"),
                      ToInteger(env, arguments.values[2], "capacityBytes")};
  auto environment = arguments.environment->self();
  auto stream = std::make_shared<RecordBatchStream>(std::move(root), limits, [environment] { environment->Wake(); });
  arguments.environment->Register(stream);
  auto handle = std::make_unique<StreamHandle>(std::move(stream));
  napi_value external;
  Check(napi_create_external(env, handle.get(), FinalizeStream, nullptr, &external));
  handle.release();  // To the External's finalizer.
  Check(napi_type_tag_object(env, external, &kStreamTag));
  return external;
}

const DuckDBLibrary& Library() {
  const DuckDBLibrary* library = nullptr;
  std::string error;
  if (!DuckDBLibrary::Find(&library, &error)) throw Fault{error};
  return *library;
}

// The connection behind an External of @duckdb/node-bindings; it stays theirs.
DuckDBConnection ToConnection(napi_env env, napi_value value) {
  bool is_connection = false;
  if (TypeOf(env, value) == napi_external) {
    Check(napi_check_object_type_tag(env, value, &kConnectionTag, &is_connection));
  }
  if (!is_connection) {
    throw TypeFault{
        "not a DuckDB connection: expected a DuckDBConnection of @duckdb/node-api, or the External inside it"};
  }
  void* holder = nullptr;
  Check(napi_get_value_external(env, value, &holder));
  DuckDBConnection connection = nullptr;
  // The first field of what @duckdb/node-bindings keeps there.
  if (holder != nullptr) std::memcpy(&connection, holder, sizeof(connection));
  if (connection == nullptr) throw Fault{"the DuckDB connection is closed"};
  return connection;
}

// Why DuckDB refuses the schema, by the first column that it doesn't take alone; empty: it takes them all.
std::string RefusalOf(const DuckDBLibrary& library, DuckDBConnection connection, const SchemaNode& root) {
  ArrowSchema whole;
  const SchemaCopy copy(root, &whole);  // S1
  const std::string text = library.SchemaError(connection, &whole);
  if (text.empty()) return text;
  for (int64_t i = 0; i < whole.n_children; i++) {
    ArrowSchema alone = whole;
    alone.n_children = 1;
    alone.children = whole.children + i;
    const std::string reason = library.SchemaError(connection, &alone);
    if (!reason.empty()) return "column '" + root.children[static_cast<size_t>(i)]->name + "': " + reason;
  }
  return text;
}

// scan(stream, connection, viewName): makes the view. Throws what DuckDB has against the schema.
napi_value Scan(const Arguments& arguments) {
  napi_env env = arguments.env;
  StreamHandle* handle = ToHandle(env, arguments.values[0]);
  DuckDBConnection connection = ToConnection(env, arguments.values[1]);
  const std::string name = ToCString(env, arguments.values[2], "a view's name");
  if (name.empty()) throw TypeFault{"a view's name is empty"};
  const auto stream = handle->stream();
  if (stream->IsClosed()) throw Fault{"the stream is closed"};
  const DuckDBLibrary& library = Library();
  if (!library.ArrowScan(connection, name.c_str(), handle->c_stream())) {
    const std::string reason = RefusalOf(library, connection, stream->schema());
    throw Fault{reason.empty()
                    ? "DuckDB didn't create the view '" + name +
                          "' and gives no reason: a table may have its name, or the connection's transaction be aborted"
                    : "DuckDB refuses the schema: " + reason};
  }
  return nullptr;
}

// refusal(stream, connection) → string or undefined
napi_value Refusal(const Arguments& arguments) {
  DuckDBConnection connection = ToConnection(arguments.env, arguments.values[1]);
  const std::string reason = RefusalOf(Library(), connection, ToStream(arguments)->schema());
  if (reason.empty()) return nullptr;
  napi_value text;
  Check(napi_create_string_utf8(arguments.env, reason.c_str(), reason.size(), &text));
  return text;
}

napi_value ToNumber(napi_env env, int64_t number) {
  napi_value value;
  Check(napi_create_int64(env, number, &value));
  return value;
}

// push(stream, rows, plan: Float64Array, planLength, buffers: ArrayBuffer[], copy, number) → 0 room, 1 full, 2 closed
// Unless it throws, `released` will give `number` when nobody reads the buffers any more (E4); 0: it won't.
napi_value Push(const Arguments& arguments) {
  napi_env env = arguments.env;
  const auto stream = ToStream(arguments);
  const int64_t rows = ToInteger(env, arguments.values[1], "a batch's length");
  napi_typedarray_type plan_type;
  size_t plan_length = 0;
  void* plan_data = nullptr;
  if (napi_get_typedarray_info(env, arguments.values[2], &plan_type, &plan_length, &plan_data, nullptr, nullptr) !=
          napi_ok ||
      plan_type != napi_float64_array) {
    throw TypeFault{"a batch's plan must be a Float64Array"};
  }
  const auto used = static_cast<size_t>(ToInteger(env, arguments.values[3], "a plan's length"));
  if (used > plan_length) throw TypeFault{"a batch's plan is shorter than said"};
  uint32_t n_buffers = 0;
  Check(napi_get_array_length(env, arguments.values[4], &n_buffers));
  bool copy = false;
  Check(napi_get_value_bool(env, arguments.values[5], &copy));
  const int64_t number = ToInteger(env, arguments.values[6], "a batch's number");
  if (stream->IsEnded()) throw Fault{"push after end"};
  if (stream->IsClosed()) {
    arguments.environment->Release(number);
    return ToNumber(env, static_cast<int64_t>(PushResult::kClosed));
  }

  std::vector<napi_value> buffers(n_buffers);
  std::vector<MemoryBlock> blocks(n_buffers);
  for (uint32_t i = 0; i < n_buffers; i++) {
    Check(napi_get_element(env, arguments.values[4], i, &buffers[i]));
    bool is_buffer = false;
    Check(napi_is_arraybuffer(env, buffers[i], &is_buffer));
    if (!is_buffer) throw TypeFault{"a batch's buffers must lie in ArrayBuffers, not in SharedArrayBuffers"};
    void* data = nullptr;
    size_t size = 0;
    Check(napi_get_arraybuffer_info(env, buffers[i], &data, &size));
    // A detached one has no bytes: RecordBatch::Build sees that its views lie outside.
    blocks[i] = {static_cast<uint8_t*>(data), size};
  }
  const BatchPlan plan{static_cast<const double*>(plan_data), used};
  auto batch = RecordBatch::Build(stream->schema(), rows, plan, blocks, copy, stream->live());
  if (!copy && n_buffers > 0) {
    auto pinned = PinnedBuffers::Pin(env, arguments.environment, buffers, number);
    if (pinned == nullptr) throw Fault{"ArrayBuffers couldn't be pinned"};
    batch->SetOwner(std::move(pinned));  // B2
  } else {
    arguments.environment->Release(number);
  }
  return ToNumber(env, static_cast<int64_t>(stream->Push(std::move(batch))));
}

// room(stream) → true, or false and on_wake will be called
napi_value Room(const Arguments& arguments) {
  napi_value value;
  Check(napi_get_boolean(arguments.env, ToStream(arguments)->HasRoom(), &value));
  return value;
}

napi_value IsOpen(const Arguments& arguments) {
  const auto stream = ToStream(arguments);
  napi_value value;
  Check(napi_get_boolean(arguments.env, !stream->IsClosed() && !stream->IsEnded(), &value));
  return value;
}

napi_value End(const Arguments& arguments) {
  ToStream(arguments)->End();
  return nullptr;
}

napi_value Fail(const Arguments& arguments) {
  ToStream(arguments)->Fail(ToString(arguments.env, arguments.values[1], "a failure's message"));
  return nullptr;
}

// counts(stream, Float64Array(6)): fills it in the order of StreamCounts.
napi_value Counts(const Arguments& arguments) {
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  Check(napi_get_typedarray_info(arguments.env, arguments.values[1], &type, &length, &data, nullptr, nullptr));
  if (type != napi_float64_array || length < 6) throw TypeFault{"counts needs a Float64Array of 6"};
  const StreamCounts counts = ToStream(arguments)->Counts();
  auto* out = static_cast<double*>(data);
  out[0] = static_cast<double>(counts.rows_handed_over);
  out[1] = static_cast<double>(counts.batches_handed_over);
  out[2] = static_cast<double>(counts.bytes_handed_over);
  out[3] = static_cast<double>(counts.batches_queued);
  out[4] = static_cast<double>(counts.batches_held);
  out[5] = static_cast<double>(counts.bytes_alive);
  return nullptr;
}

// released() → undefined, or the numbers of pushes whose buffers nobody reads any more (E4), each once
napi_value Released(const Arguments& arguments) {
  napi_env env = arguments.env;
  const std::vector<int64_t> released = arguments.environment->TakeReleased();
  if (released.empty()) return nullptr;
  napi_value numbers;
  Check(napi_create_array_with_length(env, released.size(), &numbers));
  for (size_t i = 0; i < released.size(); i++) {
    Check(napi_set_element(env, numbers, static_cast<uint32_t>(i), ToNumber(env, released[i])));
  }
  return numbers;
}

// onWake(function): called after readers made room; replaces an earlier one.
napi_value OnWake(const Arguments& arguments) {
  if (TypeOf(arguments.env, arguments.values[0]) != napi_function) throw TypeFault{"onWake needs a function"};
  Check(arguments.environment->SetWake(arguments.env, arguments.values[0]));
  return nullptr;
}

// failAll(message): every open stream of this environment.
napi_value FailAll(const Arguments& arguments) {
  arguments.environment->FailAll(ToString(arguments.env, arguments.values[0], "a failure's message"));
  return nullptr;
}

// libraryPath() → string
napi_value LibraryPath(const Arguments& arguments) {
  const std::string& path = Library().path();
  napi_value text;
  Check(napi_create_string_utf8(arguments.env, path.c_str(), path.size(), &text));
  return text;
}

// A worker's end unloads its addons; DuckDB's threads may still have to call RecordBatch::Release (B3).
void StayLoaded() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&StayLoaded), &info) == 0 || info.dli_fname == nullptr) return;
  dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

napi_value Initialize(napi_env env, napi_value exports) {
  StayLoaded();
  try {
    Export(env, exports, "create", Call<Create>);
    Export(env, exports, "scan", Call<Scan>);
    Export(env, exports, "refusal", Call<Refusal>);
    Export(env, exports, "push", Call<Push>);
    Export(env, exports, "released", Call<Released>);
    Export(env, exports, "room", Call<Room>);
    Export(env, exports, "isOpen", Call<IsOpen>);
    Export(env, exports, "end", Call<End>);
    Export(env, exports, "fail", Call<Fail>);
    Export(env, exports, "counts", Call<Counts>);
    Export(env, exports, "onWake", Call<OnWake>);
    Export(env, exports, "failAll", Call<FailAll>);
    Export(env, exports, "libraryPath", Call<LibraryPath>);
  } catch (const PendingException&) {
    return nullptr;
  } catch (const Fault& fault) {
    napi_throw_error(env, nullptr, fault.message.c_str());
    return nullptr;
  }
  return exports;
}

}  // namespace
}  // namespace arrow_scan

NAPI_MODULE_INIT() { return arrow_scan::Initialize(env, exports); }
