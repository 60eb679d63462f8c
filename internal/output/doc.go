// Package output writes a finished profile.Profile in every form, for people and for programs. It
// does not know where the numbers came from. No earlier package knows how they will look.
//
// # The way through the package
//
// Every form first calls Check, which refuses a profile with invalid indexes. After that it indexes
// without further checks. There are five ways to write a profile:
//
//   - The terminal view (view.go) merges rows by function. view_functions.go ranks functions by
//     self and total, view_tree.go folds the call tree, and idle.go removes the waits of
//     threads without work.
//
//   - The three tables show rows. choose selects the top rows, and the stacks and processes
//     that they refer to (selection.go). tables.go lays them out, drawn.go draws them for a
//     terminal, and pieces.go splits tables that are too wide for it.
//
//   - Folded stacks and flame graphs show levels. leveler turns a row into levels: comm, user
//     frames, kernel frames (level.go). fold merges equal stacks into lines. grow merges equal
//     prefixes into a tree, which the HTML page and the SVG picture draw. speedscope.go
//     writes the levels of each row as numbers.
//
//   - pprof and JSON contain the profile itself, frame by frame.
//
//   - The Firefox Profiler's form (firefox.go) shows a timeline.Timeline: each sample of a profile
//     with its time, on the track of its thread. firefox_tables.go turns rows into a tree of
//     stacks by their levels, and firefox_markers.go writes what is no sample.
//
// Package stdio, below this one, has the table of perf report.
//
// WriteFile chooses the form by the file's extension, and replaces the file only when the new one
// is complete. The page's scripts are in the folder page and need no build step: format.js,
// model.js (the tree), colour.js, graph.js (the canvas), functions.js (the table), page.js (user
// actions).
//
// # The JSON form
//
// It is one object: schema ("ringtap-profile"), version (2), collector, event, command, host, start
// (RFC 3339), duration_ns, period_ns, and the lists below. Their entries refer to each other by
// index from zero. -1 means none.
//
//   - metrics: name, type, unit, scale, running (the metric counts what happens while a
//     stack's leaf runs). One count in a row stands for scale units.
//   - objects: path, build_id, kernel, labels (frame names are words of the collector),
//     marks (labels in place of missing callers), runtime (of interpreted functions).
//   - frames: object, address (hexadecimal string; the offset in the object's
//     file, or a kernel or JIT address), name, raw_name (if it differs),
//     offset (bytes into the function), lines: function, file, line, start (of
//     the declaration), innermost inlined function first.
//   - stacks: frames, root first; truncated.
//   - processes: pid, nspid, tgid, comm, cgroup.
//   - rows: process, user, kernel (stacks), values: one count per metric.
//   - accounts: event, received, lost, overwritten (kept for an alarm, then
//     overwritten), left_out (part of received), throttled, counted (the kernel's
//     count, if it must equal received + lost + overwritten), truncated, broken,
//     unkept, unknown.
//   - notes: sentences.
//
// Empty, zero and false fields may be missing. A reader must check the version and ignore unknown
// fields.
//
// # Invariants
//
//   - Text from a profiled process (names, paths, cgroups, notes) reaches an output only
//     through escape or escapeFrame (folded.go).
//   - The sum of every form is the sum of the rows. The view says what it excludes from
//     its total (idle.go).
//   - The same profile always gives the same bytes. No order depends on map iteration.
//   - Row.Values are counts. One count stands for Metric.Scale base units. Tables and
//     folded stacks show counts; pprof and numbers for people use base units.
//   - A frame without a name is shown as its object, "[unknown] (libfoo.so)". Forms that do
//     not merge by name add the offset in the object.
//   - A truncated stack has a level "[truncated]" in place of its missing root, so that it
//     cannot be mistaken for a whole one.
package output
