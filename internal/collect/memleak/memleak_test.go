package memleak

import (
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// leakRun is a run of memleak on made records, of programs with kernel stacks: each
// site is an address.
type leakRun struct {
	*table.Recorder
	t       *testing.T
	leaks   *Collector
	places  map[string]uint64
	now     uint64
	windows []*table.Window
	stack   []byte // that the next samples have
}

const second = uint64(1e9)

// The samplings of leakRun.
const (
	throughEnds = iota
	leakEnds
	leakBegins
	leakGives
)

// newLeakRun begins a run at 0.
func newLeakRun(t *testing.T, o Options, opts table.Options) *leakRun {
	t.Helper()
	r := &leakRun{t: t, places: make(map[string]uint64)}
	ends := probe.Source{Role: probe.Return, Site: pair.Site{Return: true}}
	sources := []*allocator.Source{{Source: ends, Through: true}, {Source: ends}, {Source: probe.Source{Role: probe.Enter}}, {Source: probe.Source{Role: probe.Hit}}}
	for i, name := range []string{"malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "mmap", "mremap", "free", "munmap", "_Znwm"} {
		r.places[name] = uint64(i+1) * 16
		for _, e := range sources {
			e.Place(r.places[name], allocator.Named(name))
		}
	}
	r.leaks = New(sources, stack.Stacks{Kernel: true}, o)
	r.leaks.Ended = true
	t.Cleanup(func() { _ = r.leaks.Close() })
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	if opts.Memory == 0 {
		opts.Memory = 64 << 20
	}
	opts.Emit = func(w *table.Window) { r.windows = append(r.windows, w) }
	r.Recorder = table.NewRecorder([]table.Collector{r.leaks}, processes, 0, opts)
	return r
}

// leakThread is one of the programs'.
type leakThread struct{ pid, tid uint32 }

// sample hands on a sample with registers.
func (r *leakRun) sample(th leakThread, sampling int, place, sp uint64, regs map[uint8]uint64, chain ...uint64) {
	r.t.Helper()
	var asked perfevent.Sampling
	pair.Site{}.Prepare(&asked)
	regs = maps.Clone(regs)
	for bit := range uint8(64) {
		if asked.UserRegs>>bit&1 != 0 {
			regs[bit] = sp
		}
	}
	s := tabletest.Hit(th.pid, r.now, chain...)
	s.TID, s.Sampling, s.IP = th.tid, sampling, 0x7f0000000000+place
	s.Regs.ABI, s.Stack = stack.ABI64, r.stack
	for _, number := range slices.Sorted(maps.Keys(regs)) {
		s.Regs.Mask |= 1 << number
		s.Regs.Values = append(s.Regs.Values, regs[number])
	}
	tabletest.Handle(r.t, r.Recorder, s)
	r.now++
}

// enter begins a call whose frame is at a stack pointer.
func (r *leakRun) enter(th leakThread, name string, sp, site uint64, args ...uint64) {
	r.t.Helper()
	if name == "mmap" && len(args) == 2 {
		args = append(args, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	}
	regs := make(map[uint8]uint64)
	for i, arg := range args {
		regs[arch.Here.C.Arguments[i].Perf] = arg
	}
	sampling := leakBegins
	if !allocator.Named(name).Returns() {
		sampling = leakGives
	}
	r.sample(th, sampling, r.places[name], sp, regs, site)
}

// returned is the stack pointer when a call has returned whose frame was at another.
func (r *leakRun) returned(sp uint64) uint64 {
	var s perfevent.Sample
	s.Regs.Mask, s.Regs.Values = ^uint64(0), make([]uint64, 64)
	_, at := pair.Site{}.Place(&s)
	_, returned := pair.Site{Return: true}.Place(&s)
	return sp + at - returned
}

// leave ends a call whose frame was at a stack pointer.
func (r *leakRun) leave(th leakThread, sp, result uint64) {
	r.t.Helper()
	r.leaveAs(th, leakEnds, sp, result)
}

func (r *leakRun) leaveAs(th leakThread, sampling int, sp, result uint64) {
	r.t.Helper()
	r.sample(th, sampling, 0, r.returned(sp), map[uint8]uint64{arch.Here.C.Results[0].Perf: result})
}

// call is a whole call.
func (r *leakRun) call(th leakThread, name string, site, result uint64, args ...uint64) {
	r.t.Helper()
	r.enter(th, name, 0x7000, site, args...)
	if allocator.Named(name).Returns() {
		r.leave(th, 0x7000, result)
	}
}

// held is bytes and allocations.
type held struct{ size, count uint64 }

// standing is what a window shows, by site.
func standing(w *table.Window) map[uint64]held {
	all := make(map[uint64]held)
	for _, row := range w.Rows {
		site := uint64(0)
		if row.Kernel >= 0 {
			site = w.Stacks[row.Kernel].Frames[0].Offset
		}
		h := all[site]
		all[site] = held{h.size + row.Values[leakedSize], h.count + row.Values[leakedCount]}
	}
	return all
}

// last closes the window under way and returns what stands.
func (r *leakRun) last() map[uint64]held {
	r.t.Helper()
	r.Finish(r.now + 1)
	return standing(r.windows[len(r.windows)-1])
}

func TestALongCallKeepsItsStackThroughOtherWindows(t *testing.T) {
	r := newLeakRun(t, Options{}, table.Options{Interval: 100})
	slow, other := leakThread{1, 1}, leakThread{1, 2}
	r.enter(slow, "malloc", 0x7000, 77, 32)
	for r.now < 400 {
		r.call(other, "malloc", 1000+r.now, 1<<20, 16) // other stacks take the places of those that are gone
		r.call(other, "free", 0, 0, 1<<20)
	}
	r.leave(slow, 0x7000, 1<<30)
	if got := r.last(); got[77] != (held{32, 1}) {
		t.Errorf("standing %v, want the allocation of the long call", got)
	}
}

const failedCall = ^uint64(0)

func TestWhatIsNotFreedStands(t *testing.T) {
	main, other, child := leakThread{1, 1}, leakThread{1, 2}, leakThread{9, 9}
	for _, test := range []struct {
		name string
		do   func(r *leakRun)
		want map[uint64]held
	}{
		{"each call by its own stack", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 100)
			r.call(main, "calloc", 20, 0x2000, 3, 7)
			r.call(main, "malloc", 10, 0x3000, 50)
			r.call(main, "malloc", 30, 0x4000, 0)
		}, map[uint64]held{10: {150, 2}, 20: {21, 1}, 30: {0, 1}}},
		{"what another thread frees is free", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 100)
			r.call(other, "free", 0, 0, 0x1000)
		}, map[uint64]held{}},
		{"what was allocated before is nothing", func(r *leakRun) {
			r.call(main, "free", 0, 0, 0x1000)
			r.leave(main, 0x7000, 0x2000)
		}, map[uint64]held{}},
		{"calls that fail", func(r *leakRun) {
			r.call(main, "malloc", 10, 0, 100)
			r.call(main, "mmap", 10, failedCall, 0, 4096)
			r.call(main, "malloc", 20, 0x1000, 8)
			r.call(main, "realloc", 30, 0, 0x1000, 1<<60)
		}, map[uint64]held{20: {8, 1}}},
		{"realloc moves, and is who holds then", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 8)
			r.call(main, "realloc", 20, 0x2000, 0x1000, 30)
			r.call(main, "malloc", 10, 0x1000, 8)
		}, map[uint64]held{20: {30, 1}, 10: {8, 1}}},
		{"realloc of nothing, and to nothing", func(r *leakRun) {
			r.call(main, "realloc", 10, 0x1000, 0, 30)
			r.call(main, "realloc", 20, 0x2000, 0, 40)
			r.call(main, "realloc", 30, 0, 0x2000, 0)
			r.call(main, "reallocarray", 40, 0x3000, 0, 5, 11)
		}, map[uint64]held{10: {30, 1}, 40: {55, 1}}},
		{"an address given to another before realloc returns", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 8)
			r.enter(main, "realloc", 0x7000, 20, 0x1000, 30)
			r.call(other, "malloc", 30, 0x1000, 5)
			r.leave(main, 0x7000, 0x2000)
		}, map[uint64]held{20: {30, 1}, 30: {5, 1}}},
		{"the outermost call of several", func(r *leakRun) {
			r.enter(main, "_Znwm", 0x7000, 10, 24)
			r.enter(main, "malloc", 0x6000, 20, 24)
			r.enter(main, "mmap", 0x5000, 30, 0, 1<<20)
			r.leave(main, 0x5000, 0x10000)
			r.leave(main, 0x6000, 0x1000)
			r.leave(main, 0x7000, 0x1000)
		}, map[uint64]held{10: {24, 1}}},
		{"a call that ends in a jump to another", func(r *leakRun) {
			r.enter(main, "_Znwm", 0x7000, 10, 24)
			r.enter(main, "malloc", 0x7000, 20, 24)
			r.leave(main, 0x7000, 0x1000)
			r.leave(main, 0x7000, 0x1000)
		}, map[uint64]held{10: {24, 1}}},
		{"frees inside realloc", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 8)
			r.enter(main, "realloc", 0x7000, 20, 0x1000, 30)
			r.enter(main, "malloc", 0x6000, 30, 30)
			r.leave(main, 0x6000, 0x2000)
			r.enter(main, "free", 0x6000, 0, 0x1000)
			r.leave(main, 0x7000, 0x2000)
		}, map[uint64]held{20: {30, 1}}},
		{"a call whose end was not seen", func(r *leakRun) {
			r.enter(main, "malloc", 0x7000, 10, 8)
			r.call(main, "malloc", 20, 0x1000, 5)
			r.enter(main, "malloc", 0x8000, 10, 8)
			r.now += 2 * second
			r.call(main, "malloc", 20, 0x2000, 5)
		}, map[uint64]held{20: {10, 2}}},
		{"mappings that take no memory", func(r *leakRun) {
			const private = unix.MAP_PRIVATE | unix.MAP_ANON
			r.call(main, "mmap", 10, 0x100000, 0, 0x4000000, unix.PROT_NONE, private)
			r.call(main, "mmap", 20, 0x8000000, 0, 0x1000000, unix.PROT_READ|unix.PROT_WRITE, private|unix.MAP_NORESERVE)
			r.call(main, "mmap", 30, 0xa000000, 0, 0x800000, unix.PROT_NONE, private|unix.MAP_STACK)
			r.call(main, "mmap", 70, 0xe000000, 0, 0x2000, unix.PROT_READ|unix.PROT_WRITE, private|unix.MAP_STACK) // of a coroutine
			r.call(main, "mmap", 40, failedCall, 0, 0x800000, unix.PROT_NONE, private)
			r.call(main, "mmap", 50, 0xc000000, 0, 0x1000)
			r.call(main, "mmap", 60, 0xc000000, 0, 0x1000, unix.PROT_NONE, private|unix.MAP_FIXED) // over the one before
			if want := (reserved{1, 0x800000, 3, 0x5001000, 0}); r.leaks.reserved != want {
				r.t.Errorf("reserved %+v, want %+v", r.leaks.reserved, want)
			}
		}, map[uint64]held{70: {0x2000, 1}}},
		{"mappings, of which a part is unmapped", func(r *leakRun) {
			r.call(main, "mmap", 10, 0x100000, 0, 0x5000)
			r.call(main, "munmap", 0, 0, 0x101000, 0x1000)
			r.call(main, "mmap", 20, 0x200000, 0, 0x3000)
			r.call(main, "munmap", 0, 0, 0x200000, 0x2001)
			r.call(main, "mmap", 30, 0x103000, 0x103000, 0x1000) // over the first
		}, map[uint64]held{10: {0x3000, 3}, 30: {0x1000, 1}}},
		{"a mapping that moves", func(r *leakRun) {
			r.call(main, "mmap", 10, 0x100000, 0, 0x5000)
			r.call(main, "mremap", 20, 0x900000, 0x100000, 0x5000, 0x8000)
			r.call(main, "mremap", 30, failedCall, 0x900000, 0x8000, 1<<50)
		}, map[uint64]held{20: {0x8000, 1}}},
		{"munmap that fails", func(r *leakRun) {
			r.call(main, "mmap", 10, 0x100000, 0, 0x5000)
			r.call(main, "munmap", 0, 0, 0x100001, 0x1000)
			r.call(main, "munmap", 0, 0, 0x100000, 0)
			r.call(main, "munmap", 0, 0, 0x100000, 1<<62)
		}, map[uint64]held{10: {0x5000, 1}}},
		{"reallocarray of more than there can be", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 8)
			r.call(main, "reallocarray", 20, 0, 0x1000, 1<<63, 2)
		}, map[uint64]held{10: {8, 1}}},
		{"a process that executes another program", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 8)
			tabletest.Handle(r.t, r.Recorder, &perfevent.Comm{Header: perfevent.Header{PID: 1, TID: 1, Time: r.now}, PID: 1, TID: 1, Exec: true})
			r.call(main, "malloc", 20, 0x1000, 5)
		}, map[uint64]held{20: {5, 1}}},
		{"a child, which has its parent's memory for nothing", func(r *leakRun) {
			r.call(main, "malloc", 10, 0x1000, 8)
			tabletest.Handle(r.t, r.Recorder, &perfevent.Fork{Header: perfevent.Header{PID: 9, TID: 9, Time: r.now}, PID: 9, TID: 9, PPID: 1, PTID: 1})
			r.call(child, "free", 0, 0, 0x1000)
			r.call(child, "malloc", 20, 0x2000, 5)
		}, map[uint64]held{10: {8, 1}, 20: {5, 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newLeakRun(t, Options{}, table.Options{})
			test.do(r)
			if got := r.last(); !maps.Equal(got, test.want) {
				t.Errorf("%v stand, want %v", got, test.want)
			}
		})
	}
}

func TestAnAddressThatWasNotFreed(t *testing.T) {
	for _, test := range []struct {
		drop bool
		want map[uint64]held
	}{
		{false, map[uint64]held{10: {8, 1}, 20: {5, 1}}},
		{true, map[uint64]held{20: {5, 1}}},
	} {
		r := newLeakRun(t, Options{MissedFrees: test.drop}, table.Options{})
		r.call(leakThread{1, 1}, "malloc", 10, 0x1000, 8)
		r.call(leakThread{1, 1}, "malloc", 20, 0x1000, 5)
		if got := r.last(); !maps.Equal(got, test.want) {
			t.Errorf("dropped %v: %v stand, want %v", test.drop, got, test.want)
		}
		if missed := r.leaks.Missed(); missed.frees != 1 {
			t.Errorf("%d missed frees, want 1", missed.frees)
		}
	}
}

func TestOnlyWhatHasStoodLongEnough(t *testing.T) {
	r := newLeakRun(t, Options{Older: 3e9}, table.Options{Interval: 2 * second})
	main := leakThread{1, 1}
	r.call(main, "malloc", 10, 0x1000, 8)
	r.call(main, "mmap", 30, 0x100000, 0, 4096)
	r.now = second + second/2
	r.call(main, "malloc", 20, 0x2000, 5)
	r.Finish(6 * second)
	for i, want := range []map[uint64]held{{}, {10: {8, 1}, 30: {4096, 1}}, {10: {8, 1}, 20: {5, 1}, 30: {4096, 1}}} {
		if got := standing(r.windows[i]); !maps.Equal(got, want) {
			t.Errorf("window %d: %v, want %v", i, got, want)
		}
	}
}

// What a process held when it ended grows no older.
func TestMemoryIsAsOldAsItsProcessBecame(t *testing.T) {
	r := newLeakRun(t, Options{Older: 3e9}, table.Options{Interval: 6 * second})
	r.call(leakThread{5, 5}, "malloc", 5, 0x1000, 8)
	r.call(leakThread{6, 6}, "malloc", 6, 0x1000, 8)
	for _, pid := range []uint32{5, 6} {
		r.now += 2 * second
		tabletest.Handle(t, r.Recorder, &perfevent.Exit{Header: perfevent.Header{PID: pid, TID: pid, Time: r.now}, PID: pid, TID: pid})
	}
	r.now = 6*second - 1
	if got, want := r.last(), (map[uint64]held{6: {8, 1}}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What a process held when it ended is in one window, and in that of the whole run.
func TestTheWholeRunHasWhatProcessesHeldAtTheirEnd(t *testing.T) {
	r := newLeakRun(t, Options{}, table.Options{Interval: second, Whole: true})
	for i := range uint64(4) {
		r.now = i*second + 1
		r.call(leakThread{1, 1}, "malloc", 5, 0x1000+i, 1)
		pid := uint32(10 + i)
		r.call(leakThread{pid, pid}, "malloc", 6, 0x5000, 100)
		tabletest.Handle(t, r.Recorder, &perfevent.Exit{Header: perfevent.Header{PID: pid, TID: pid, Time: r.now}, PID: pid, TID: pid})
	}
	whole := standing(r.Finish(4 * second))
	for i, w := range r.windows {
		if got, want := standing(w), (map[uint64]held{5: {uint64(i) + 1, uint64(i) + 1}, 6: {100, 1}}); !maps.Equal(got, want) {
			t.Errorf("window %d: %v, want %v", i, got, want)
		}
	}
	if want := (map[uint64]held{5: {4, 4}, 6: {400, 4}}); len(r.windows) != 4 || !maps.Equal(whole, want) {
		t.Errorf("%d windows, the whole run: %v, want %v", len(r.windows), whole, want)
	}
}

// Random programs know what they hold.
func TestWhatStandsIsWhatProgramsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	r := newLeakRun(t, Options{}, table.Options{Interval: second})
	type block struct{ site, size uint64 }
	blocks := make([]map[uint64]block, 3) // by process
	for i := range blocks {
		blocks[i] = make(map[uint64]block)
	}
	for interval := range 20 {
		for range 3000 {
			p := random.IntN(len(blocks))
			th := leakThread{uint32(p + 1), uint32(10*p + random.IntN(4) + 1)}
			address, site, size := uint64(random.IntN(5000)+1)*16, uint64(random.IntN(40)+1), uint64(random.IntN(1000))
			_, taken := blocks[p][address]
			switch {
			case taken && random.IntN(4) == 0:
				for to := address; ; to += 16 * 5000 {
					if _, ok := blocks[p][to]; to == address || ok {
						continue
					}
					delete(blocks[p], address)
					blocks[p][to] = block{site, size + 1}
					r.call(th, "realloc", site, to, address, size+1)
					break
				}
			case taken:
				delete(blocks[p], address)
				r.call(th, "free", 0, 0, address)
			default:
				blocks[p][address] = block{site, size}
				r.call(th, "malloc", site, address, size)
			}
		}
		r.now = uint64(interval+1) * second
		r.Advance(r.now)
		want := make(map[uint64]held)
		for _, all := range blocks {
			for _, b := range all {
				want[b.site] = held{want[b.site].size + b.size, want[b.site].count + 1}
			}
		}
		if got := standing(r.windows[interval]); !maps.Equal(got, want) {
			t.Fatalf("interval %d: %v, want %v", interval, got, want)
		}
	}
}

// Some leave the address in a register, or write what another function has returned.
func TestAnAddressThatIsKnownBesidesWhereItWasWritten(t *testing.T) {
	const register = 3
	main := leakThread{1, 1}
	for _, inner := range []bool{false, true} {
		r := newLeakRun(t, Options{}, table.Options{})
		f := *allocator.Named("posix_memalign")
		const place = 0x400
		if r.places["posix_memalign"] = place; !inner {
			f.Written = 1 + register
		}
		r.leaks.sources[leakBegins].Place(place, &f)
		for _, address := range []uint64{0x1000, 0x2000} {
			r.enter(main, "posix_memalign", 0x7000, 10, 8, 64, 200)
			if inner {
				r.enter(main, "malloc", 0x6000, 20, 300)
				r.leave(main, 0x6000, address)
			}
			r.sample(main, throughEnds, 0, r.returned(0x7000), map[uint8]uint64{arch.Here.C.Results[0].Perf: 0, register: address})
		}
		r.call(main, "free", 0, 0, 0x2000)
		if got, want := r.last(), (map[uint64]held{10: {200, 1}}); !maps.Equal(got, want) || r.leaks.Missed().unread != 0 {
			t.Errorf("inner call %v: %v stand, want %v; %d unread", inner, got, want, r.leaks.Missed().unread)
		}
	}
}

// posix_memalign writes the address to a variable, mostly one on the caller's stack.
func TestAnAddressThatIsWrittenThroughAPointer(t *testing.T) {
	// Not Go's memory: a variable on a goroutine's stack moves.
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(page)
	binary.NativeEndian.PutUint64(page, 0x2000)
	binary.NativeEndian.PutUint64(page[8:], 0x2008)
	elsewhere := uint64(uintptr(unsafe.Pointer(&page[0])))
	here := leakThread{uint32(os.Getpid()), 1}
	for _, test := range []struct {
		name    string
		th      leakThread
		pointer uint64
		result  uint64
		free    uint64
		want    map[uint64]held
		unread  uint64
	}{
		{"on the stack", leakThread{1, 1}, 0x7018, 0, 0x1000, map[uint64]held{}, 0},
		{"on the stack, not freed", leakThread{1, 1}, 0x7018, 0, 0x3000, map[uint64]held{10: {200, 1}}, 0},
		{"elsewhere", here, elsewhere, 0, 0x2000, map[uint64]held{}, 0},
		{"elsewhere, not freed", here, elsewhere, 0, 0x1000, map[uint64]held{10: {200, 1}}, 0},
		{"elsewhere, where something else is by now", here, elsewhere + 8, 0, 0x1000, map[uint64]held{}, 1},
		{"nowhere", here, 8, 0, 0x1000, map[uint64]held{}, 1},
		{"an error", leakThread{1, 1}, 0x7018, 12, 0x3000, map[uint64]held{}, 0},
	} {
		r := newLeakRun(t, Options{}, table.Options{})
		r.enter(test.th, "posix_memalign", 0x7000, 10, test.pointer, 64, 200)
		r.stack = binary.NativeEndian.AppendUint64(make([]byte, 0x7018-r.returned(0x7000)), 0x1000)
		r.leaveAs(test.th, throughEnds, 0x7000, test.result)
		r.stack = nil
		r.call(test.th, "free", 0, 0, test.free)
		if got := r.last(); !maps.Equal(got, test.want) || r.leaks.Missed().unread != test.unread {
			t.Errorf("%s: %v stand, want %v; %d unread, want %d", test.name, got, test.want, r.leaks.Missed().unread, test.unread)
		}
	}
}
