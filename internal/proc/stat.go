package proc

import (
	"bytes"
	"strconv"
)

// Stat is what the stat file of a process or thread tells (proc_pid_stat(5)).
type Stat struct {
	Comm    string // raw bytes
	State   byte   // 'R', 'S', 'Z' …
	Flags   uint64 // PF_* of include/linux/sched.h
	Threads int    // of the process; 0 of a thread that is gone
	Start   uint64 // clock ticks since boot
	CPU     int    // on which it ran last; -1 if the kernel does not tell
}

// Ended reports whether the process or thread runs no more: a zombie does not.
func (s *Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// ParseStat reads the text of a stat file. Fields that are missing stay 0; it is not ok
// without a state. The name stands in parentheses and may itself hold some.
func ParseStat(text []byte) (s Stat, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open || end+2 >= len(text) {
		return Stat{}, false
	}
	s.Comm, s.State = string(text[open+1:end]), text[end+2]
	s.CPU = -1
	n := 3 // the number of the state's field
	for field := range bytes.FieldsSeq(text[end+2:]) {
		switch n {
		case 9:
			s.Flags = number(field)
		case 20:
			s.Threads = int(number(field))
		case 22:
			s.Start = number(field)
		case 39:
			s.CPU = int(number(field))
			return s, true
		}
		n++
	}
	return s, true
}

func number(text []byte) uint64 {
	n, _ := strconv.ParseUint(string(text), 10, 63)
	return n
}
