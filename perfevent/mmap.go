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
	fd  int    // of the owner, which is in Session.events
}

// mmap maps the ring of the event fd; size is a power of two of bytes. Without
// PROT_WRITE the kernel writes over what is oldest.
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

// watermark is how many bytes of records wake the reader: a quarter of a ring,
// so that three quarters are left while it gets going, or any where they are to
// be seen at once.
func (s *Session) watermark() uint32 {
	switch {
	case s.backward:
		return uint32(s.ringSize) // nobody waits for it
	case s.opts.NoBuffering:
		return 1
	case s.opts.WakeBytes > 0:
		return uint32(min(s.opts.WakeBytes, s.ringSize/4))
	}
	return uint32(s.ringSize / 4)
}

// The sizes of a chosen ring with the privilege to lock memory.
const (
	leastRing       = 8 << 20
	greatestRing    = 32 << 20
	defaultAllRings = 256 << 20
)

// stormRate is how many samples per second and CPU a probe in a hot function
// makes. With a copy of the stack 8 MiB hold 10 ms of them, which is less than a
// reader may have to wait for a busy CPU.
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

// smallerRing halves the size of the rings after the kernel refused one, or
// explains that there is nothing left to halve.
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

// powerOfTwo rounds n down.
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

// capable tells whether the caller has a capability (capabilities(7)).
func capable(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	return data[capability/32].Effective&(1<<(capability%32)) != 0
}
