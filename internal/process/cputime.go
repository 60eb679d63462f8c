package process

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
)

// CPUTime is how long a process has run, with its threads and with the children that it
// has waited for, as getrusage(2) tells of RUSAGE_SELF and RUSAGE_CHILDREN together.
type CPUTime struct {
	User, System time.Duration
}

// tick is the unit of times in stat files: USER_HZ is 100 on every machine of ours.
const tick = time.Second / 100

// CPUTime reads how long a process has run. One that has ended can be read until its
// parent has waited for it.
func (h Host) CPUTime(pid int) (CPUTime, error) {
	text, err := h.Read(pid, "stat")
	if err != nil {
		return CPUTime{}, err
	}
	t, ok := parseCPUTime(text)
	if !ok {
		return CPUTime{}, fmt.Errorf("read %s: no times", h.Path(pid, "stat"))
	}
	return t, nil
}

// parseCPUTime reads utime, stime, cutime and cstime, the fields 14 to 17 of
// proc_pid_stat(5). The name, field 2, may itself hold parentheses.
func parseCPUTime(stat []byte) (t CPUTime, ok bool) {
	const first, behind = 14, 3 // field 3 is the first behind the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < first-behind+4 {
		return CPUTime{}, false
	}
	for i, to := range []*time.Duration{&t.User, &t.System, &t.User, &t.System} {
		ticks, err := strconv.ParseUint(string(fields[first-behind+i]), 10, 32)
		if err != nil {
			return CPUTime{}, false
		}
		*to += time.Duration(ticks) * tick
	}
	return t, true
}
