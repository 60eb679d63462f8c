package process

import (
	"fmt"
	"strconv"
	"time"
)

// CPUTime is how long a process has run, including its threads and the children that it has
// waited for: the sum of getrusage(2)'s RUSAGE_SELF and RUSAGE_CHILDREN.
type CPUTime struct {
	User, System time.Duration
}

// tick is the unit of times in stat files: USER_HZ is 100 on all supported machines.
const tick = time.Second / 100

// CPUTime reads how long a process has run. It works for a process that has ended, until its
// parent has waited for it.
func (h Host) CPUTime(pid int) (CPUTime, error) {
	stat, err := h.Stat(strconv.Itoa(pid))
	if err != nil {
		return CPUTime{}, err
	}
	user, system, ok := stat.CPUTicks()
	if !ok {
		return CPUTime{}, fmt.Errorf("read %s: no times", h.Path(pid, "stat"))
	}
	return CPUTime{time.Duration(user) * tick, time.Duration(system) * tick}, nil
}
