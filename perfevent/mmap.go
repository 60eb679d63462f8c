package perfevent

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// mappedRing is the ring of one CPU and the event that owns it.
type mappedRing struct {
	*ring
	mem []byte // the control page and the data
	fd  int    // of the event that owns the ring, which is in Session.events
}

// mmap maps the ring of the event fd. size is in bytes, a power of two. If prot lacks
// PROT_WRITE, the kernel overwrites the oldest records.
func (m *mappedRing) mmap(fd, cpu, size, prot int) error {
	page := os.Getpagesize()
	mem, err := unix.Mmap(fd, 0, page+size, prot, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	control := mmapPage(mem)
	m.mem, m.fd = mem, fd
	m.ring = newRing(cpu, &control.Data_head, &control.Data_tail, mem[page:])
	return nil
}

func (m *mappedRing) unmap() error {
	if m.mem == nil {
		return nil
	}
	mem := m.mem
	m.mem = nil
	return unix.Munmap(mem)
}

// watermark returns how many bytes of records wake the reader. The default is a quarter of a
// ring, which leaves three quarters for the records that come before the reader runs.
func (s *Session) watermark() uint32 {
	switch {
	case s.backward:
		return uint32(s.ringSize) // nobody waits for it
	case s.opts.NoBuffering:
		return 1
	case s.opts.WakeupWatermark > 0:
		return uint32(min(s.opts.WakeupWatermark, s.ringSize/4))
	}
	return uint32(s.ringSize / 4)
}

// Sizes for chooseRingSize with the privilege to lock memory, in bytes.
const (
	leastRing       = 8 << 20
	greatestRing    = 32 << 20
	defaultAllRings = 256 << 20
)

// stormRate is how many samples per second and CPU a probe in a hot function makes. If they
// have copies of the stack, 8 MiB hold 10 ms of them. A reader may wait longer than that for
// a busy CPU.
const stormRate = 1_000_000

// chooseRingSize returns how many bytes each ring should have: a power of two
// of pages.
func (s *Session) chooseRingSize() int {
	page := os.Getpagesize()
	if s.opts.RingBytes > 0 {
		return max(page, powerOfTwo(s.opts.RingBytes))
	}
	if !mayLockMemory() {
		// The budget covers the control page as well.
		budget := mlockBudget()
		if s.opts.Recent {
			budget /= 3
		}
		return max(page, powerOfTwo(budget-page))
	}
	perSecond := uint64(0)
	for i := range s.samplings {
		perSecond += s.samplings[i].Frequency * uint64(s.samplings[i].recordBytes())
		if s.samplings[i].Period == 1 && s.samplings[i].UserStack > 0 {
			perSecond += stormRate * uint64(s.samplings[i].recordBytes())
		}
	}
	size := leastRing
	for size < greatestRing && uint64(size) < perSecond/2 {
		size *= 2
	}
	return max(page, min(size, powerOfTwo(defaultAllRings/len(s.cpus))))
}

// smallerRing halves s.ringSize after the kernel refused to map a ring with err. It returns an
// *OpenError if a smaller ring would not help.
func (s *Session) smallerRing(err error) error {
	page := os.Getpagesize()
	refused := errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM)
	if refused && s.ringSize > page {
		s.ringSize /= 2
		s.opts.logger().Debug("smaller rings", "bytes", s.ringSize, "error", err)
		return nil
	}
	return &OpenError{Target: s.target.String(), Kind: ErrRingMemory, Err: fmt.Errorf("map a ring of %d bytes: %w", s.ringSize, err),
		Hint: fmt.Sprintf("kernel.perf_event_mlock_kb is %s KiB per CPU for all of a user's perf events; "+
			"raise it or ulimit -l, end another profiler, or run as root", readSysctl("perf_event_mlock_kb"))}
}

// powerOfTwo rounds n down to a power of two, or to 0.
func powerOfTwo(n int) int {
	if n <= 0 {
		return 0
	}
	return 1 << (bits.Len(uint(n)) - 1)
}

// mlockBudget returns how many bytes a user may lock per CPU.
func mlockBudget() int {
	const usual = 516
	kb, err := strconv.Atoi(readSysctl("perf_event_mlock_kb"))
	if err != nil || kb < 0 || kb > 1<<30 {
		kb = usual
	}
	return kb << 10
}

// mayLockMemory reports whether rings are exempt from the budget (perf_mmap in
// kernel/events/core.c): with CAP_IPC_LOCK, or when perf is open to all.
func mayLockMemory() bool {
	if level, err := strconv.Atoi(readSysctl("perf_event_paranoid")); err == nil && level < 0 {
		return true
	}
	return capable(unix.CAP_IPC_LOCK)
}

// capable reports whether the caller has a capability (capabilities(7)).
func capable(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[capability/32].Effective&(1<<(capability%32)) != 0
}
