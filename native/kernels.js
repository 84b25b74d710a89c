/** Checks of raw Arrow buffers in native code. Documented in kernels.d.ts. */
import { binding } from "./binding.js";

export const { findInvalidUtf8, findBadOffset, findBadText, findOutside, findLongDecimal } =
	binding;
