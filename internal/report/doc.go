// Package report writes a finished profile.Profile in every form that people
// and programs read. It does not know where the numbers came from, and nothing
// before it knows how they look.
//
// # The way through the package
//
// Every form starts with check, which refuses a profile whose indexes don't
// agree, and indexes freely after. Then there are four ways:
//
//   - the view of a terminal (view.go) merges rows by function: view_functions.go
//     ranks them by self and total, view_tree.go folds the call tree, and idle.go
//     takes out the waits of threads without work;
//
//   - the three tables show rows: choose takes the top rows and the stacks and
//     processes they name (selection.go), tables.go lays them out, drawn.go
//     draws them for a terminal, and pieces.go those that are too wide for it;
//
//   - folded stacks and flame graphs show levels: leveler turns a row into
//     comm, user frames, kernel frames (level.go); fold merges equal stacks to
//     lines, grow merges equal beginnings to a tree that the page and the
//     picture draw;
//
//   - pprof and JSON carry the profile itself, frame by frame.
//
// WriteFile picks the form by the file's ending and puts the file in its place
// when it is complete. What the page does in the browser is in the folder page,
// without a build step: format.js, model.js (the tree), colour.js, graph.js (the
// canvas), functions.js (the table), page.js (what the user does).
//
// # The JSON form
//
// One object: schema ("ringtap-profile"), version (2), collector, event,
// command, host, start (RFC 3339), duration_ns, period_ns, and these lists,
// whose entries name each other by index from zero; -1 names none:
//
//   - metrics: name, type, unit, scale. A count in rows stands for scale units.
//   - objects: path, build_id, kernel.
//   - frames: object, address (hexadecimal string; the offset in the object's
//     file, or a kernel or JIT address), name, raw_name (where it differs),
//     offset (bytes into the function), lines: function, file, line, start (of
//     the declaration), innermost inlined function first.
//   - stacks: frames, root first; truncated.
//   - processes: pid, nspid, tgid, comm, cgroup.
//   - rows: process, user, kernel (stacks), values: one count for each metric.
//   - accounts: event, received, lost, overwritten (kept for an alarm, and let go
//     of), left_out (of those received), throttled, counted (the kernel's count,
//     where it must be received + lost + overwritten), truncated, broken, unkept,
//     unknown.
//   - notes: sentences.
//
// Fields that are empty, zero or false may be missing. A reader must take the
// version it knows and ignore fields it doesn't.
//
// # Invariants
//
//   - Nothing from a profiled process reaches an output but through escape or
//     escapeFrame (escape.go): names, paths, cgroups and notes.
//   - Every form sums to the same total: that of the rows. The view says what it leaves
//     out of its total (idle.go).
//   - The same profile gives the same bytes; nothing follows map order.
//   - Row.Values are counts; a count stands for Metric.Scale base units. Tables
//     and folded stacks show counts, pprof and people's figures base units.
//   - A frame without a name is shown with its object, "[unknown] (libfoo.so)",
//     and with the offset in it where a form is not merged by name.
//   - A stack that was cut short has a level "[truncated]" for its missing
//     root, so that it can't be mistaken for a whole one.
package report
