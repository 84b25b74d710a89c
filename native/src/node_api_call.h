// Functions of the addon: arguments in, C++ exceptions to JavaScript ones. All on their environment's thread.
#pragma once

#include <node_api.h>

#include <array>
#include <exception>
#include <new>
#include <string>

#include "environment.h"
#include "record_batch.h"

namespace arrow_scan {

// An exception is pending in JavaScript: unwinds to the function's border.
struct PendingException {};
// Becomes a TypeError.
struct TypeFault {
  std::string message;
};
// Becomes an Error.
struct Fault {
  std::string message;
};

inline void Check(napi_status status) {
  if (status == napi_ok) return;
  if (status == napi_pending_exception) throw PendingException();
  throw Fault{"Node-API call failed with status " + std::to_string(static_cast<int>(status))};
}

// Closed on every way out: Node aborts when a function leaves one open.
class HandleScope {
 public:
  explicit HandleScope(napi_env env) : env_(env) { Check(napi_open_handle_scope(env, &scope_)); }
  ~HandleScope() { napi_close_handle_scope(env_, scope_); }
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;

 private:
  napi_env env_;
  napi_handle_scope scope_;
};

struct Arguments {
  napi_env env;
  std::array<napi_value, 8> values;
  Environment* environment;
};

// Wraps a function: arguments in, C++ exceptions to JavaScript ones, references swept (E2).
template <napi_value (*Function)(const Arguments&)>
napi_value Call(napi_env env, napi_callback_info info) {
  try {
    Arguments arguments{env, {}, Environment::Of(env)};
    if (arguments.environment == nullptr) throw Fault{"the addon couldn't set up its environment"};
    size_t count = arguments.values.size();
    // Missing arguments are undefined.
    Check(napi_get_cb_info(env, info, &count, arguments.values.data(), nullptr, nullptr));
    arguments.environment->Sweep(env);
    return Function(arguments);
  } catch (const PendingException&) {
  } catch (const TypeFault& fault) {
    napi_throw_type_error(env, nullptr, fault.message.c_str());
  } catch (const Fault& fault) {
    napi_throw_error(env, nullptr, fault.message.c_str());
  } catch (const ShapeError& error) {
    napi_throw_range_error(env, nullptr, error.what());
  } catch (const std::bad_alloc&) {
    napi_throw_error(env, nullptr, "out of native memory");
  } catch (const std::exception& error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

inline std::string ToString(napi_env env, napi_value value, const char* what) {
  napi_valuetype type;
  Check(napi_typeof(env, value, &type));
  if (type != napi_string) throw TypeFault{std::string(what) + " must be a string"};
  size_t length = 0;
  Check(napi_get_value_string_utf8(env, value, nullptr, 0, &length));
  std::string text(length, '\0');
  Check(napi_get_value_string_utf8(env, value, &text[0], length + 1, &length));
  return text;
}

// A string that ends up in a C struct, where a NUL would cut it.
inline std::string ToCString(napi_env env, napi_value value, const char* what) {
  std::string text = ToString(env, value, what);
  if (text.find('\0') != std::string::npos) throw TypeFault{std::string(what) + " contains a NUL character"};
  return text;
}

inline int64_t ToInteger(napi_env env, napi_value value, const char* what) {
  double number = 0;
  if (napi_get_value_double(env, value, &number) != napi_ok || !(number >= 0 && number <= 9007199254740992.0) ||
      number != static_cast<double>(static_cast<int64_t>(number))) {
    throw TypeFault{std::string(what) + " must be an integer from 0 to 2^53"};
  }
  return static_cast<int64_t>(number);
}

inline void Export(napi_env env, napi_value exports, const char* name, napi_callback callback) {
  napi_value function;
  Check(napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function));
  Check(napi_set_named_property(env, exports, name, function));
}

}  // namespace arrow_scan
