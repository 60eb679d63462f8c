// Package kprobe places kernel probes. It turns a definition, in the syntax of perf-tools'
// kprobe, into instructions of the kernel, and these into perf events.
//
//	d, err := kprobe.Parse("p:vfs_read count")
//	…
//	plan, err := kprobe.Resolve(d, kprobe.Options{})
//	…
//	attached, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: target})
//	// Open attached.Events with perfevent.
//
// example_test.go has runnable examples. An overview:
//
//	text → Parse → Definition → Resolve → Plan → Attach → Attachment → perf session
//	                                │
//	/proc/kallsyms ─────────────────┤ the functions, their addresses and ends
//	available_filter_functions,     │
//	kprobes/blacklist, sections ────┤ whether the kernel allows a probe there
//	Types (BTF) ────────────────────┤ parameters and members by their names
//	ftrace.KernelArgs ──────────────┘ registers of this architecture
//
// Parse only looks at the text. Resolve reads the kernel's lists but makes no changes. Attach
// defines events; tracing starts when a perf session (package perfevent) opens them. Package
// uprobe does the same for programs.
//
// # Definitions
//
//	{p|r}:[ALIAS ]PLACE[ ARGUMENT…]      p at the entry, r at the return
//
//	PLACE  [MODULE:]FUNCTION             a function as kallsyms has it; a pattern
//	                                     with *, ? or [a-z]; in double quotes it
//	                                     is a name and never a pattern
//	       [MODULE:]FUNCTION+OFF         OFF bytes (decimal or 0x…) after its start
//	       0xADDRESS                     in the kernel's memory
//
// An ARGUMENT is a fetch argument of the kernel (Documentation/trace/kprobetrace.rst):
// registers, $argN, $retval, $stackN, $comm, memory at @SYMBOL or @ADDRESS. +OFF(…)
// dereferences a pointer, and +uOFF(…) does so in the task's memory. Names of amd64 registers
// are also accepted on arm64.
//
// An ARGUMENT may also be a C expression over the function's parameters, for which
// Options.Types finds offsets and types: path->dentry->d_name.name, $retval->f_flags. $args
// means all parameters or, in a return probe, the result.
//
// As in perf-tools, the first word is the function if there is no second one, or if the second
// one contains a =, % or $. Otherwise the first word is an alias, the name of the event, and
// the second word is the function. Two cases are handled better:
//
//   - If the second word cannot be a function, such as @jiffies or sk->sk_family, the first one is
//     not an alias.
//   - If there is no function with the name of the second word, but one with the name of the first,
//     the second word is a parameter: p:vfs_read count.
//
// # Which functions
//
// A name must match exactly: finish_task_switch does not mean finish_task_switch.isra.0, but
// the error mentions it. The error also tells which function of this kernel replaces one of an
// older kernel, that a module is not loaded, and why an existing function cannot be probed. If
// several functions have the same name, all are probed, by address: the kernel would take the
// first of them or, since 6.6, none.
//
// Not every kernel has all lists, so a missing or unreadable list is no error. What cannot be
// checked in advance fails when the probe is attached. Options.Force leaves all checks to the
// kernel.
//
// # Which events
//
// There are four Methods to trace a function. Attach uses the first one that can do what is
// asked.
//
// perf's own kprobe events need no tracefs and vanish with their descriptors. But they fetch
// nothing, each open event takes time at each hit, they do not count missed hits, and they must
// never be inherited. So they are used for one function on a few CPUs or in a thread. All other
// events are tracefs events in an ftrace.Group, so that they are removed however the program
// ends.
//
// Kernels without either may have the function tracer, or breakpoints in the kernel.
// Attachment.Raw converts their records to kprobe records, so that the output is the same for
// every method.
//
// A hit that the kernel misses is in none of perf's counts: the number of calls is the count
// plus Attachment.Missed. Return probes miss calls if too many are running at the same time;
// ringtap reserves room for many more than the kernel's default.
//
// To name the call stacks of hits, see package callchain/stacks.
package kprobe
