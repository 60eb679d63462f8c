package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// maxCPUs bounds what a CPU list may name; kernels are built for at most 8192.
const maxCPUs = 1 << 16

// anyCPU stands for all CPUs where an event follows a thread.
const anyCPU = -1

// OnlineCPUs returns the CPUs that a session on the whole system watches.
func OnlineCPUs() ([]int, error) { return onlineCPUs() }

// NohzFullCPUs returns the CPUs that the kernel leaves to one thread each (nohz_full=):
// whoever reserved them wants no other thread there.
func NohzFullCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/nohz_full")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the kernel has no such CPUs
	}
	if err != nil {
		return nil, fmt.Errorf("list nohz_full CPUs: %w", err)
	}
	list := strings.TrimSpace(string(text))
	if list == "" || list == "(null)" {
		return nil, nil
	}
	cpus, err := parseCPUs(list)
	if err != nil {
		return nil, fmt.Errorf("list nohz_full CPUs: %w", err)
	}
	return cpus, nil
}

// onlineCPUs lists the CPUs that run now. One that comes online later is not
// watched; a session is short compared with such changes.
func onlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("list online CPUs: %w", err)
	}
	cpus, err := parseCPUs(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("list online CPUs: %w", err)
	}
	return cpus, nil
}

// parseCPUs reads a kernel CPU list such as "0-3,8".
func parseCPUs(list string) ([]int, error) {
	var cpus []int
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || last < first || len(cpus) > maxCPUs {
			return nil, fmt.Errorf("bad CPU list %q", list)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, int(c))
		}
	}
	return cpus, nil
}
