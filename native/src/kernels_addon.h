// The JavaScript face of kernels.h.
#pragma once

#include <node_api.h>

namespace arrow_scan {

// Adds the functions that kernels.js wraps.
void ExportKernels(napi_env env, napi_value exports);

}  // namespace arrow_scan
