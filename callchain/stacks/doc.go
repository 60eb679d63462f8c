// Package stacks makes named call stacks of perf samples. It joins what a profiler
// needs of packages perfevent, callchain and symbols: it knows the processes of this
// machine and what they have mapped, unwinds the stacks of samples, and names their
// frames.
//
//	sampling → Stacks.Prepare → perfevent.Open
//	record   → Stacks.Handle     mappings, names, births and ends of processes
//	sample   → Stacks.Sample → Stack, a small comparable value to count by
//	Stack    → Stacks.Frames, Stacks.Folded   names, looked up when they are asked for
//
// The example is a whole profiler.
//
// Who unwinds by other means takes a Process, which is a callchain.AddressSpace, and
// names frames or addresses with it.
//
// # What holds
//
//   - A stack can be named after its process has ended: files are opened when the first
//     sample is in them, and stay open until Close.
//   - Memory grows with the distinct stacks, not with the samples.
//   - Names are as the target has them, raw. Folded escapes what would break a line.
//   - A Stacks belongs to one goroutine.
//
// The package is new, and its API may still change.
package stacks
