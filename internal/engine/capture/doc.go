// Package capture saves what a run read, so that tests can run the engine and its sinks again
// without a kernel. It saves the raw bytes of the records, the attributes of the events, and the
// contents of /proc and of the mapped files. Only tests use it.
//
//	Recorder (an engine.Source around an engine.Live) ─ File ─ gzip ─ Source (an engine.Source)
//
// The files in testdata were recorded from testdata/known.c, which describes itself. See
// captures_test.go for how to record them again. They contain registers, so that each file is good
// for one architecture only.
package capture
