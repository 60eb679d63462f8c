package process

import (
	"bytes"
	"fmt"
	"strings"
)

// Status is the content of /proc/PID/status for a process or thread (proc_pid_status(5)).
type Status struct {
	Comm      string // raw bytes
	TGID      int    // the thread's process
	PPID      int
	NSPID     int       // PID in the innermost pid namespace
	TracerPID int       // 0 if it is not traced
	Switches  uint64    // how often it has left a CPU
	UIDs      [2]uint32 // real and effective
	GIDs      [2]uint32 // real and effective
	Caught    uint64    // signals with a handler: signal n is bit n-1

	nested bool // NSPID is from another namespace than that of /proc
	zombie bool // the main thread has exited; other threads may still run
}

// Status reads the status of a process or thread.
func (h Host) Status(id int) (Status, error) { return newProcfs(h).status(id) }

func (fs *procfs) status(id int) (Status, error) {
	text, err := fs.read(id, "status")
	if err != nil {
		return Status{}, err
	}
	st, ok := parseStatus(text)
	if !ok {
		return Status{}, fmt.Errorf("read %s: it names no process", fs.Path(id, "status"))
	}
	return st, nil
}

// parseStatus parses a status file. Missing lines leave their fields zero. If NSpid is missing
// (Linux before 4.1), NSPID is the tgid.
func parseStatus(text []byte) (s Status, ok bool) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, newline)
		key, value, found := bytes.Cut(line, []byte{':'})
		if !found {
			continue
		}
		value = bytes.TrimPrefix(value, []byte{'\t'})
		switch string(key) {
		case "Name":
			s.Comm = unescapeName(string(value))
		case "State":
			s.zombie = len(value) > 0 && (value[0] == 'Z' || value[0] == 'X')
		case "Tgid":
			s.TGID, _ = lastNumber(value)
		case "NSpid":
			s.NSPID, s.nested = lastNumber(value)
		case "PPid":
			s.PPID, _ = lastNumber(value)
		case "TracerPid":
			s.TracerPID, _ = lastNumber(value)
		case "Uid":
			s.UIDs = firstTwo(value)
		case "Gid":
			s.GIDs = firstTwo(value)
		case "SigCgt":
			s.Caught, _, _ = number(value, 16, ' ')
		case "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches":
			n, _, _ := number(value, 10, ' ')
			s.Switches += n
		}
	}
	if s.NSPID == 0 {
		s.NSPID = s.TGID
	}
	return s, s.TGID > 0
}

// unescapeName undoes the escapes of the Name line (proc_task_name in
// fs/proc/array.c): a newline and the backslash itself.
func unescapeName(name string) string {
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	return strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace(name)
}

// lastNumber returns the last of a line of pids, and whether the line has several.
func lastNumber(text []byte) (pid int, several bool) {
	fields := 0
	for len(text) > 0 {
		value, rest, ok := number(text, 10, '\t')
		if !ok {
			if value, _, ok = number(text, 10, ' '); !ok {
				break
			}
			rest = nil
		}
		if value > maxPID {
			return 0, false
		}
		pid, text = int(value), rest
		fields++
	}
	return pid, fields > 1
}

// firstTwo returns the real and the effective id of a Uid or Gid line.
func firstTwo(text []byte) (ids [2]uint32) {
	for i := range ids {
		value, rest, ok := number(text, 10, '\t')
		if !ok || value > 1<<32-1 {
			return ids
		}
		ids[i], text = uint32(value), rest
	}
	return ids
}
