package perfevent

// threadBreakpoints tells whether a thread can have breakpoints in the kernel.
const threadBreakpoints = true
