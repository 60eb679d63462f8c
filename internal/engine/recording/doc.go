// Package recording makes a run of a recording: an engine.Source that reads package perfdata's
// files instead of rings. Everything after the source works as in a live run.
//
//	f, err := perfdata.Open("perf.data")
//	...
//	source, err := recording.New(f, recording.Options{Files: buildid.Default(os.Getenv), Kallsyms: kallsyms})
//	...
//	engine.Start(ctx, source, engine.Options{Unwind: true})
//
// A recording describes its own machine. Names of processes, their mappings and their ends come
// from its records alone. Files that its processes have mapped, and the kernel, are found on this
// machine by their build ids. Where the recording has none, a file must have the recorded path and
// inode and be older than the recording. For the kernel, the recording must have been made on this
// host, with its kernel's release, since it was booted. Nothing else of this machine is used.
package recording
