package syscalltext

import "github.com/ringtap/ringtap/internal/process"

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

// fixedMemory reads which memory of a process can't be written to; nothing if it is gone.
func fixedMemory(pid int) (fixed ranges) {
	_ = process.Host{}.Areas(pid, func(a *process.Area) bool {
		if !a.Writable {
			fixed = append(fixed, [2]uint64{a.Start, a.End})
		}
		return true
	})
	return fixed
}
