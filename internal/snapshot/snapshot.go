package snapshot

import (
	"log/slog"
	"time"
)

// Options says what is looked at.
type Options struct {
	Lines  bool         // source lines too
	Stop   bool         // stop the threads for a moment, so that all is exact
	Locks  bool         // find who holds the locks that threads wait for
	Logger *slog.Logger // nil discards
}

// Snapshot is a process as it was found.
type Snapshot struct {
	PID     int
	NSPID   int // in the innermost pid namespace
	Parent  int
	Tracer  int // the process that traces it with ptrace(2), 0 if none does
	Comm    string
	Command string // its arguments, "" where it has none
	Cgroup  string
	Time    time.Time
	Stopped time.Duration // how long the process stood still for it, with Options.Stop
	Threads []*Thread     // by TID

	Runtimes   []string     // versions of the Go runtimes in the process
	Goroutines []*Goroutine // of all of them, by ID

	Notes []string // what is missing, and why
}

// Ended reports whether nothing is left of the process but its exit status.
func (s *Snapshot) Ended() bool { return len(s.Threads) == 1 && s.Threads[0].State == 'Z' }

// Kernel reports whether it is a thread of the kernel.
func (s *Snapshot) Kernel() bool { return len(s.Threads) == 1 && s.Threads[0].kernel }
