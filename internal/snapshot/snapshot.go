package snapshot

import (
	"log/slog"
	"time"
)

// Options configure a Taker.
type Options struct {
	Lines  bool         // find source lines
	Stop   bool         // stop the threads briefly, so that all stacks are exact and of the same moment
	Locks  bool         // find who holds the locks that threads wait for
	Logger *slog.Logger // nil discards
}

// Snapshot is the state of a process at one time.
type Snapshot struct {
	PID     int
	NSPID   int // PID in the innermost PID namespace
	Parent  int
	Tracer  int // process that traces it with ptrace(2), 0 if none
	Comm    string
	Command string // its arguments, "" if it has none
	Cgroup  string
	Time    time.Time
	Stopped time.Duration // how long the process was stopped, with Options.Stop
	Threads []*Thread     // by TID

	Runtimes   []string     // versions of the Go runtimes in the process
	Goroutines []*Goroutine // of all these runtimes, by ID

	Notes []string // what is missing, and why
}

// Ended reports whether only the exit status of the process is left.
func (s *Snapshot) Ended() bool { return len(s.Threads) == 1 && s.Threads[0].State == 'Z' }

// Kernel reports whether the process is a kernel thread.
func (s *Snapshot) Kernel() bool { return len(s.Threads) == 1 && s.Threads[0].kernel }
