package proc

import (
	"bytes"
	"fmt"
	"strconv"
)

// Stat is the content of a stat file of a process or thread (proc_pid_stat(5)).
type Stat struct {
	Comm    string // raw bytes
	State   byte   // 'R', 'S', 'Z' …
	Flags   uint64 // PF_* in include/linux/sched.h
	Threads int    // of the process; 0 for a thread that has ended
	Start   uint64 // clock ticks since boot
	CPU     int    // where it last ran; -1 if the kernel does not say

	times [4]uint64 // utime, stime, cutime and cstime, in clock ticks
	timed bool      // the file has all four
}

// Fields by their numbers in proc_pid_stat(5).
const (
	stateField   = 3
	flagsField   = 9
	utimeField   = 14
	cstimeField  = 17
	threadsField = 20
	startField   = 22
	cpuField     = 39
)

// Stat reads the stat file in a directory of proc(5): "1", "self" or "1/task/2". The error is a
// *fs.PathError if the process or thread is gone.
func (fs FS) Stat(dir string) (Stat, error) {
	name := dir + "/stat"
	text, err := fs.ReadFile(name)
	if err != nil {
		return Stat{}, err
	}
	s, ok := parseStat(text)
	if !ok {
		return Stat{}, fmt.Errorf("read %s: it has no state", fs.Name(name))
	}
	return s, nil
}

// Ended reports whether the process or thread no longer runs. That includes zombies.
func (s *Stat) Ended() bool { return s.State == 'Z' || s.State == 'X' }

// Exiting reports whether the process or thread has started to exit (PF_EXITING).
func (s *Stat) Exiting() bool { return s.Flags&0x4 != 0 }

// CPUTicks returns the CPU time in clock ticks, including the time of children that the process
// has waited for. ok is false if the file does not have the times.
func (s *Stat) CPUTicks() (user, system uint64, ok bool) {
	return s.times[0] + s.times[2], s.times[1] + s.times[3], s.timed
}

// parseStat parses a stat file. Missing fields stay 0; ok is false if there is no state. The
// name is in parentheses and may itself contain parentheses.
func parseStat(text []byte) (s Stat, ok bool) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open || end+2 >= len(text) {
		return Stat{}, false
	}
	s.Comm, s.State = string(text[open+1:end]), text[end+2]
	s.CPU = -1
	field, timed := stateField, true
	for word := range bytes.FieldsSeq(text[end+2:]) {
		switch field {
		case flagsField:
			s.Flags, _ = number(word)
		case utimeField, utimeField + 1, utimeField + 2, cstimeField:
			n, ok := number(word)
			s.times[field-utimeField] = n
			timed = timed && ok
			s.timed = timed && field == cstimeField
		case threadsField:
			n, _ := number(word)
			s.Threads = int(n)
		case startField:
			s.Start, _ = number(word)
		case cpuField:
			n, _ := number(word)
			s.CPU = int(n)
			return s, true
		}
		field++
	}
	return s, true
}

func number(text []byte) (n uint64, ok bool) {
	n, err := strconv.ParseUint(string(text), 10, 63)
	return n, err == nil
}
