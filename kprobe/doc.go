// Package kprobe places kernel probes: it turns a definition, as perf-tools'
// kprobe takes it, into instructions of the kernel, and those into perf events.
//
//	text → Parse → Definition → Resolve → Plan → Attach → Attachment → perf session
//	                                │
//	    /proc/kallsyms ─────────────┤ the functions, where they are and end
//	    available_filter_functions,  │
//	    kprobes/blacklist, sections ─┤ whether the kernel lets them be probed
//	    Types (BTF) ────────────────┤ parameters and members by their names
//	    ftrace.KernelArgs ──────────┘ registers of this architecture
//
// Parse looks at nothing but the text, Resolve reads what the kernel tells about
// itself, Attach defines events and traces nothing: that begins when a perf
// session (package perfevent) opens the attachment's events. Package uprobe is
// the same for programs.
//
// # Definitions
//
//	{p|r}:[ALIAS ]PLACE[ ARGUMENT…]      p at the entry, r at the return
//
//	PLACE  [MODULE:]FUNCTION             a function as kallsyms has it; a pattern
//	                                     with *, ? or [a-z]; in double quotes it
//	                                     is a name and never a pattern
//	       [MODULE:]FUNCTION+OFF         OFF bytes (decimal or 0x…) behind its start
//	       0xADDRESS                     in the kernel's memory
//
// An ARGUMENT is the kernel's (Documentation/trace/kprobetrace.rst): registers,
// $argN, $retval, $stackN, $comm, memory at @SYMBOL or @ADDRESS, +OFF(…) to follow
// what is a pointer, +uOFF(…) to follow it in the task's memory. Names of
// amd64's registers are understood on arm64. Or it is an expression in C over the
// function's parameters, for which Options.Types finds offsets and types:
// path->dentry->d_name.name, $retval->f_flags, $args for all parameters, and in
// a return probe for what is returned.
//
// As perf-tools has it the first word is the function if there is no second one,
// or if the second has a =, % or $ in it; otherwise it is an alias, the name
// of the event, and the second word is the function. Two things are done better.
// A second word that can be no function, such as @jiffies or sk->sk_family, does
// not make the first an alias. And if there is no function called like the second
// word, but one called like the first, then the second is a parameter: p:vfs_read
// count.
//
// # Which functions
//
// A name is exact: finish_task_switch does not mean finish_task_switch.isra.0,
// but the error says that there is one. So it says which function does today what
// one of an older kernel did, that a module is not loaded, and why a function that
// is there can't be probed. Functions of one name are all probed, by their
// addresses: the kernel would take the first of them, or since 6.6 none.
//
// A kernel does not tell everything: a missing or unreadable list is no error. What
// is not known beforehand the kernel will say when the probe is attached.
// Options.Force leaves all of it to the kernel.
//
// # Which events
//
// There are four Methods to trace a function, and Attach takes the first that can do
// what is asked. Perf's own kprobe events need no tracefs and vanish with their
// descriptors, but fetch nothing, cost their time once for each open event at each
// hit, don't tell what they missed, and must never be inherited. They serve one
// function on a few CPUs or for a thread. All else are events of tracefs, in an
// ftrace.Group: however the program ends, they do not stay. Kernels without either
// may have the function tracer, or breakpoints in the kernel; what they record is
// made into the record of a kprobe (Attachment.Raw), so that a line is the same
// whatever the way was.
//
// A hit that the kernel misses is in no count of perf's: calls are what was
// counted and Attachment.Missed. Return probes miss calls when too many are under
// way at once; they are given room for many more than the kernel would.
//
// To name the call stacks of hits, see package callchain/stacks.
package kprobe
