package goroutine

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

// Goroutines calls yield with each goroutine of the process until yield returns false, in no
// particular order. The error wraps the context's error, or says why the process's memory can't
// be read: it has ended (unix.ESRCH), or access is denied (fs.ErrPermission).
func (r *Runtime) Goroutines(ctx context.Context, yield func(*Goroutine) bool) error {
	list, err := r.goroutines()
	if err != nil {
		return err
	}
	p := pass{Runtime: r, yield: yield, locks: make(map[uint64]Lock)}
	for attempt := 1; len(list) > 0 && !p.stopped; attempt++ {
		p.last = attempt == attempts
		p.again = nil
		for part := range slices.Chunk(list, maxSpans) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.part(part); err != nil {
				return err
			}
			if p.stopped {
				break
			}
		}
		list = p.again
	}
	return nil
}

// pass is one reading of all goroutines.
type pass struct {
	*Runtime
	yield   func(*Goroutine) bool
	stopped bool     // yield has returned false
	last    bool     // the last attempt: a goroutine that changes now is returned without a stack
	again   []uint64 // goroutines to read again

	first, second batch
	states        []state
	threads       []int             // by index in states
	locks         map[uint64]Lock   // by goroutine address
	waits         map[uint64]uint64 // semaphores by goroutine address; nil until read
	now           uint64
	spans         []span
	bytes         []byte
	frames        []callchain.Frame
	capture       callchain.Capture
}

// part reads some goroutines, at most 1024.
func (p *pass) part(list []uint64) error {
	p.now = perfevent.Now() // the runtime uses the same clock (runtime.nanotime)
	if err := p.read(&p.first, list); err != nil {
		return err
	}
	p.states = p.states[:0]
	for i := range list {
		s, ok := p.parse(&p.first, i)
		switch {
		case !ok && !p.last:
			p.again = append(p.again, list[i])
		case ok && !isDead(s.status):
			p.states = append(p.states, s)
		}
	}
	if err := p.readThreads(); err != nil {
		return err
	}
	if err := p.readLocks(); err != nil {
		return err
	}
	for i := 0; i < len(p.states) && !p.stopped; {
		n, err := p.group(i)
		if err != nil {
			return err
		}
		i += n
	}
	return nil
}

// readThreads reads the ids of the threads that goroutines run on.
func (p *pass) readThreads() error {
	p.spans = p.spans[:0]
	for i := range p.states {
		if m := p.states[i].m; m != 0 {
			p.spans = append(p.spans, span{addr: m + uint64(p.layout[mProcID]), size: 8})
		}
	}
	p.bytes = sized(p.bytes, len(p.spans)*8)
	if err := p.memory.read(p.spans, p.bytes); err != nil {
		return err
	}
	p.threads = slices.Grow(p.threads[:0], len(p.states))[:len(p.states)]
	n := 0
	for i := range p.states {
		p.threads[i] = 0
		if p.states[i].m == 0 {
			continue
		}
		if tid := binary.LittleEndian.Uint64(p.bytes[n*8:]); p.spans[n].ok && tid < 1<<31 {
			p.threads[i] = int(tid)
		}
		n++
	}
	return nil
}

// group reads as many stacks as fit into one read, from goroutine i on, and yields their
// goroutines. It returns their number.
func (p *pass) group(i int) (n int, err error) {
	p.spans = p.spans[:0]
	total := 0
	var addrs [maxSpans]uint64
	for _, s := range p.states[i:] {
		size := s.stackSize(firstCopy)
		if total+size > groupCopy {
			break
		}
		addrs[n] = s.addr
		_, sp := s.top()
		p.spans = append(p.spans, span{addr: sp, size: size})
		total += size
		n++
	}
	p.bytes = sized(p.bytes, total)
	if err := p.memory.read(p.spans, p.bytes); err != nil {
		return 0, err
	}
	if err := p.read(&p.second, addrs[:n]); err != nil {
		return 0, err
	}
	at := 0
	for k := range n {
		s, stack := &p.states[i+k], p.bytes[at:at+p.spans[k].size]
		at += p.spans[k].size
		later, ok := p.parse(&p.second, k)
		still := ok && s.still(&later)
		if ok && isDead(later.status) {
			continue
		}
		if !still && !p.last && s.status != running {
			p.again = append(p.again, s.addr)
			continue
		}
		g := p.goroutine(s, p.threads[i+k])
		if still {
			g.Lock = p.locks[s.addr]
		}
		switch {
		case s.status == running:
		case !still:
			g.Missing = "it ran whenever it was looked at"
		case len(stack) == 0:
			g.Missing = "its stack pointer is not in its stack"
		case !p.spans[k].ok:
			g.Missing = "its stack can't be read"
		default:
			if err := p.unwind(g, s, stack); err != nil {
				return 0, err
			}
		}
		if !p.yield(g) {
			p.stopped = true
			break
		}
	}
	return n, nil
}

// goroutine returns a Goroutine without its stack.
func (p *pass) goroutine(s *state, thread int) *Goroutine {
	g := &Goroutine{ID: s.id, Parent: s.parent, Status: statuses[s.status], Thread: thread, LockedToThread: s.locked, Stops: s.seq,
		start: p.frame(s.start, 0), Creator: p.frame(s.creator, 1)}
	if (s.status == waiting || s.status == leaked) && int(s.reason) < len(p.reasons) {
		g.WaitReason = p.reasons[s.reason]
	}
	if (s.status == waiting || s.status == inSyscall) && s.since != 0 && s.since <= p.now && p.clock {
		g.Waited, g.Known = time.Duration(p.now-s.since), true
	}
	g.System = p.isSystem(s.start, g.WaitReason)
	return g
}

// frame returns the frame of the address addr - before; before is 1 for a return address.
func (p *pass) frame(addr, before uint64) callchain.Frame {
	m, ok := p.process.Space.Find(addr - before)
	if addr == 0 || !ok {
		return callchain.Frame{}
	}
	return callchain.Frame{Object: m.Object, Return: before > 0, Offset: addr - before - m.Start + m.Offset}
}
