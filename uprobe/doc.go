// Package uprobe places user probes. It turns a definition, in the syntax of perf-tools'
// uprobe, into instructions of files, and these into perf events.
//
//	d, err := uprobe.Parse("p:/bin/bash:readline")
//	…
//	plan, err := uprobe.Resolve(d, uprobe.Options{})
//	…
//	attached, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: target})
//	// Open attached.Events with perfevent.
//
// example_test.go has runnable examples. An overview:
//
//	text → Parse → Definition → Resolve → Plan → Attach → Attachment → perf session
//	                                │
//	internal/probe/library ─────────┤ the target's file
//	symbols, internal/probe/usdt ───┤ the functions, lines and marks in it
//	uprobe/placement ───────────────┤ the best instruction to probe
//	symbols/dwarfparam, ftrace ─────┘ what to fetch there
//
// Parse only looks at the text. Resolve reads files but makes no changes. Attach defines
// events; tracing starts when a perf session (package perfevent) opens them. Close the session
// first, then the attachment, then the plan.
//
// # Definitions
//
//	{p|r}:[ALIAS ]TARGET:PLACE[ FETCHARG…]     p at the entry, r at the return
//	u:[ALIAS ]TARGET:PROVIDER:NAME[ FETCHARG…] at a USDT probe; both may be patterns
//
//	PLACE  SYMBOL        a function: raw (_ZN2ns1fEi) or as the source has it
//	                     (ns::f, ns::f(int), main.(*T).m); a pattern with *, ? or
//	                     [a-z] if no function is called just that
//	       SYMBOL+OFF    an instruction OFF bytes (decimal or 0x…) after its start
//	       0xOFFSET      an instruction at an offset of the file
//	       FILE:LINE     the first instructions of a source line
//
// TARGET ends at the first colon; it is a path, a command on PATH or a library (libc,
// libssl.so.3). A space ends a symbol, except within parentheses or angle brackets or after a
// backslash. Text in double quotes is taken literally, so that Go's "main.(*T).m" or "operator
// new(unsigned long)" are names and never patterns. Inside quotes, \" is a quote.
//
// A FETCHARG is one of these:
//
//   - A fetch argument of the kernel (Documentation/trace/uprobetracer.rst).
//   - $argN: the Nth argument by the calling convention.
//   - The name of a parameter, from DWARF: n; x=n to rename it; n:u8 to set the type; $args for
//     all parameters that can be fetched.
//   - A path of members and elements: r->id, s.pos[1].x, *out.
//
// Pointers to char and arrays of char are fetched as text, other arrays as their elements, bit
// fields as numbers. A Go or Rust string is fetched as its text and, as name_len, its length.
// name.len, tags.len and tags.cap are parts of strings and slices.
//
// At other places than a function's first instruction, a name means a variable that is visible
// there, or one of the source file. If the compiler has optimized it out, that is an error.
//
// For a USDT probe, arg1, $arg1 and $args are its own arguments. +0($arg1):string is the text
// that the first one points to.
//
// # What is probed
//
// An entry probe may be a few instructions after the function's first one, at an instruction
// that the kernel need not single-step. Package placement explains why this makes no difference
// to the results. Options.Exact keeps the probe at the first instruction. Probes on SYMBOL+OFF,
// 0xOFFSET and FILE:LINE are never moved. They are an error if no instruction starts there.
//
// A return probe is usually the kernel's. It replaces the return address on the stack by that
// of a trampoline. Go's runtime copies and walks stacks, finds an address that is not Go code,
// and ends the program. So Go functions are probed at each of their return instructions, where
// $retval is the register of the first result. Calls that end in a jump to another function or
// in a panic are not seen there. C++ exceptions and Rust panics do not survive the kernel's
// return probe either. If they may pass through the function, nothing is fetched, and all its
// ends are known, its return instructions are probed, too. Otherwise a note warns of it.
//
// The name of a function also means its inlined copies, by debug information. Returns of copies
// cannot be probed, and neither can copies of Go functions: if a Go function has no other code,
// Resolve fails with ErrInlined and names the callers.
//
// The name of an indirect function (IFUNC) means the code that its callers call. Resolve finds
// the resolver's choice in a process that maps the file. If there is none, all functions that
// the resolver may return are probed. Patterns do not match resolvers; a resolver's own name
// does.
//
// An offset outside of known functions is checked by decoding instructions from the nearest
// place before it where code is known to start. If there is none, it is an error, unless
// Options.Exact is set.
//
// # Which events
//
// perf's own uprobe events need no tracefs and vanish with their descriptors. But they fetch
// nothing, and each open event takes time at each hit. With several events per probe they
// miscount threads that move between CPUs (fewEvents). They must never be inherited (errInherit
// says why). So they are used only for one CPU or one thread.
//
// All other events are tracefs events in an ftrace.Group, so that they are removed however the
// program ends. One event may have many sites (AttachOptions.Merge): closing an event takes the
// kernel a tenth of a second, which is too long for a thousand events.
//
// # Text
//
// Names and paths of files are hostile. Errors, notes and Plan.String escape them; Site.Symbol
// and Plan.Path are unescaped.
//
// To name the call stacks of hits, see package callchain/stacks.
package uprobe
