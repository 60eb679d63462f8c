package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// console is where a command writes: results to stdout, everything else to
// stderr. A terminal gets drawn tables and a progress line, a pipe gets lines
// that another program can read.
type console struct {
	stdout, stderr io.Writer
	drawn          bool // stdout is a terminal
	live           bool // stderr is a terminal
	width          int  // columns of stdout's terminal, 0 if it is none
}

func newConsole(stdout, stderr *os.File) *console {
	width, drawn := terminal(stdout)
	_, live := terminal(stderr)
	return &console{stdout: stdout, stderr: stderr, drawn: drawn, live: live, width: width}
}

// terminal tells whether f is a terminal and how many columns it has.
func terminal(f *os.File) (columns int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
