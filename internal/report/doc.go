// Package report writes a finished profile.Profile in every form that people
// and programs read. It does not know where the numbers came from, and nothing
// before it knows how they look.
//
// # The way through the room
//
// Every form starts with check, which refuses a profile whose indexes don't
// agree, and indexes freely after. Then there are three ways:
//
//   - the three tables show rows: choose takes the top rows and the stacks and
//     processes they name (selection.go), tables.go lays them out, drawn.go
//     draws them for a terminal;
//   - folded stacks and flame graphs show levels: leveler turns a row into
//     comm, user frames, kernel frames (level.go); fold merges equal stacks to
//     lines, grow merges equal beginnings to a tree that the page and the
//     picture draw;
//   - pprof and JSON carry the profile itself, frame by frame.
//
// WriteFile picks the form by the file's ending and puts the file in its place
// when it is complete.
//
// # Invariants
//
//   - Nothing from a profiled process reaches an output but through escape or
//     escapeFrame (escape.go): names, paths, cgroups and notes.
//   - Every form sums to the same total: that of the rows.
//   - The same profile gives the same bytes; nothing follows map order.
//   - Row.Values are counts; a count stands for Metric.Scale base units. Tables
//     and folded stacks show counts, pprof and people's figures base units.
//   - A frame without a name is shown with its object, "[unknown] (libfoo.so)",
//     and with the offset in it where a form is not merged by name.
//   - A stack that was cut short has a level "[truncated]" for its missing
//     root, so that it can't be mistaken for a whole one.
package report
