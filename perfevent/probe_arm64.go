package perfevent

// threadBreakpoints reports whether a thread can have breakpoints in the kernel:
// the kernel steps over them CPU by CPU (hw_breakpoint_arch_parse in
// arch/arm64/kernel/hw_breakpoint.c).
const threadBreakpoints = false
