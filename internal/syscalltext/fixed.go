package syscalltext

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// ranges are ranges of addresses, each [from, to).
type ranges [][2]uint64

func (r ranges) has(addr uint64) bool {
	for _, one := range r {
		if one[0] <= addr && addr < one[1] {
			return true
		}
	}
	return false
}

// fixed is the memory of a process that can't be written to.
type fixed struct {
	ranges
	read uint64 // when, nanoseconds
}

// fixedFor is how long, in nanoseconds, it is believed that there is no more.
const fixedFor = 1_000_000_000

// fixedMemory reads which memory of a process can't be written to
// (proc_pid_maps(5)); nothing if it is gone.
func fixedMemory(pid int) ranges {
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return nil
	}
	defer f.Close()
	var fixed ranges
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uint64
		var permissions string
		_, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &permissions)
		if err == nil && !strings.Contains(permissions, "w") {
			fixed = append(fixed, [2]uint64{from, to})
		}
	}
	return fixed
}
