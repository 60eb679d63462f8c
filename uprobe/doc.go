// Package uprobe places user probes: it turns a definition, as perf-tools'
// uprobe takes it, into instructions of files, and those into perf events.
//
//	text → Parse → Definition → Resolve → Plan → Attach → Attachment → perf session
//	                                │
//	    internal/library ───────────┤ the file that the target means
//	    symbols, internal/usdt ─────┤ the functions, lines and marks in it
//	    uprobe/placement ───────────┤ the instruction that is best probed
//	    symbols/dwarfparam, ftrace ─┘ what is to be fetched there
//
// Parse looks at nothing but the text, Resolve reads files and asks no kernel,
// Attach defines events and traces nothing: that begins when a perf session
// (package perfevent) opens the attachment's events. The plan is closed after the
// attachment, and that after the session.
//
// # Definitions
//
//	{p|r}:[ALIAS ]TARGET:PLACE[ FETCHARG…]     p at the entry, r at the return
//	u:[ALIAS ]TARGET:PROVIDER:NAME[ FETCHARG…] at a USDT probe; both may be patterns
//
//	PLACE  SYMBOL        a function: raw (_ZN2ns1fEi) or as the source has it
//	                     (ns::f, ns::f(int), main.(*T).m); a pattern with *, ? or
//	                     [a-z] if no function is called just that
//	       SYMBOL+OFF    an instruction OFF bytes (decimal or 0x…) behind its start
//	       0xOFFSET      an instruction at an offset of the file
//	       FILE:LINE     the instructions that a line of source begins with
//
// TARGET ends at the first colon; it is a path, a command on PATH or a library
// (libc, libssl.so.3). Blanks end a symbol unless they are within parentheses or
// angle brackets or behind a backslash. Double quotes around TARGET or SYMBOL take all of it as it
// is, so that Go's "main.(*T).m" or "operator new(unsigned long)" are names and
// never patterns; a backslash goes before a quote in them.
//
// A FETCHARG is the kernel's (Documentation/trace/uprobetracer.rst), or $argN,
// the Nth argument by the calling convention, or a parameter's name from DWARF:
// n, x=n under another name, n:u8 with another type, $args for all that can be
// fetched. A pointer to char is fetched as the text that it points to. A name may
// lead on to members and elements: r->id, s.pos[1].x, *out; pointers to char and arrays of
// char are text, other arrays their elements, bit fields numbers. A string of Go or Rust is its
// text and, as name_len, its length; name.len, tags.len and tags.cap are parts of strings and slices. Away from a
// function's first instruction names are those of the variables that are visible there,
// and of the source file's; the compiler may have optimized them out, which is an error. Of a
// USDT probe arg1, $arg1 and $args are its own arguments, +0($arg1):string what the
// first one points to.
//
// # What is probed
//
// An entry probe may sit some instructions behind the function's first, where
// the kernel need not single-step: package placement argues why nothing can tell
// the difference. Options.Exact keeps it at the first. SYMBOL+OFF, 0xOFFSET and
// FILE:LINE are never moved, and refused where no instruction begins.
//
// A return probe is the kernel's, but for Go code. The kernel replaces the return
// address on the stack by that of a trampoline; Go's runtime, which copies stacks
// and walks them, finds an address there that is no Go code and ends the program.
// So Go functions are probed at each of their return instructions, where $retval
// is the register of the first result. Calls that end in a jump to another
// function or in a panic are not seen there.
//
// The name of a function that the compiler inlined means its copies too, by debug information.
// Returns of copies cannot be probed, and neither can copies of Go functions: if a Go function has no
// other code, resolving it fails with ErrInlined and names the callers.
//
// The name of an indirect function (IFUNC) means the code that its callers call, which the
// resolver chose: a process that has the file mapped tells. If none does, all that the
// resolver can return are probed. Patterns do not mean resolvers; a resolver's name does.
//
// An offset at which no function is known is checked by reading instructions
// from the nearest place before it where code is known to begin. Where there is
// none, Options.Exact takes the offset unseen.
//
// # Which events
//
// perf's own uprobe events need no tracefs and vanish with their descriptors, but
// fetch nothing, cost their time once for each open event at each hit, miscount
// threads that move between CPUs if there is one event for each (fewEvents), and
// must never be inherited (errInherit says why). They serve one CPU or a thread.
// All else are events of tracefs, in an ftrace.Group: however the program ends,
// they do not stay. An event may have many sites (AttachOptions.Merge): closing
// one takes the kernel a tenth of a second, which a thousand would add up.
//
// # Text
//
// Names and paths of files are hostile. Errors, notes and Plan.String escape
// them; Site.Symbol and Plan.Path are as they are.
//
// To name the call stacks of hits, see package callchain/stacks.
package uprobe
