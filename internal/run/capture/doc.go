// Package capture keeps what a run recorded, so that the engine and its sinks run again
// without a kernel: the bytes of the records as they lay in the rings, the attributes of the
// events, and what /proc and the mapped files said. Tests alone use it.
//
//	Recorder (a run.Source around a run.Live) ─ File ─ gzip ─ Source (a run.Source)
//
// The files in testdata were recorded from testdata/known.c, which says what it does; see
// captures_test.go for how they are made again. They hold registers, so that a Source is of
// one architecture.
package capture
