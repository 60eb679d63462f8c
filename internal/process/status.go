package process

import (
	"bytes"
	"strings"
)

// status is what the package needs of /proc/PID/status (proc_pid_status(5)).
type status struct {
	comm   string // raw bytes
	tgid   int
	nspid  int  // pid in the innermost pid namespace
	nested bool // that is not the one /proc was mounted in
	uids   [2]uint32
	zombie bool // the leader has exited; other threads may go on
}

// parseStatus reads the text of a status file. Lines that are missing leave
// their fields zero, except for the namespace pid (Linux before 4.1): that is
// the tgid then.
func parseStatus(text []byte) (s status, ok bool) {
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
			s.comm = unescapeName(string(value))
		case "State":
			s.zombie = len(value) > 0 && (value[0] == 'Z' || value[0] == 'X')
		case "Tgid":
			s.tgid, _ = lastNumber(value)
		case "NSpid":
			s.nspid, s.nested = lastNumber(value)
		case "Uid":
			s.uids = firstTwo(value)
		}
	}
	if s.nspid == 0 {
		s.nspid = s.tgid
	}
	return s, s.tgid > 0
}

// unescapeName undoes the escapes of the Name line (proc_task_name in
// fs/proc/array.c): a newline and the backslash itself.
func unescapeName(name string) string {
	if strings.IndexByte(name, '\\') < 0 {
		return name
	}
	return strings.NewReplacer(`\n`, "\n", `\\`, `\`).Replace(name)
}

// lastNumber reads the last of a line of pids, and whether it has several.
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

// firstTwo reads the real and the effective id of a Uid line.
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
