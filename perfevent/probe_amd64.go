package perfevent

// threadBreakpoints reports whether a thread can have breakpoints in the kernel.
const threadBreakpoints = true
