package goroutine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// Heap reads the samples that a Go runtime takes of its heap allocations (runtime/mprof.go). It
// only reads memory; the program does not notice.
type Heap struct {
	Path    string // of the program
	version string // of Go

	process Process
	memory  memory
	arch    callchain.Arch
	buckets uint64 // address of runtime.mbuckets
	rate    uint64 // address of runtime.MemProfileRate
}

// ErrNotSampled is returned by Heap.Read if the runtime takes no samples of allocations. The
// linker turns them off in programs that cannot call runtime.MemProfile.
var ErrNotSampled = errors.New("the program does not record its heap allocations: it does not link Go's memory profiler, or runtime.MemProfileRate is 0")

// FindHeap finds the heap of the first Go program or library that a process has mapped. The
// error wraps ErrNotGo if there is none. It is an *UnknownError if the samples can't be found.
func FindHeap(p Process) (*Heap, error) {
	seen := make(map[*process.Object]bool)
	for m := range p.Space.Mapped {
		if m.Object.Kind != process.File || seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		program := openProgram(m)
		if program == nil {
			continue
		}
		h := &Heap{Path: program.path, version: program.version, process: p, memory: processMemory(p.PID), arch: callchain.Host()}
		unknown := func(why string) error { return &UnknownError{path: h.Path, version: h.version, Why: why} }
		if why := program.supported(h.arch); why != "" {
			return nil, unknown(why)
		}
		symbols := program.symbols()
		if symbols[memBuckets].addr == 0 || symbols[memProfileRate].addr == 0 {
			return nil, unknown("it has no symbol table (go build without -ldflags=-s or -w keeps it)")
		}
		h.buckets, h.rate = symbols[memBuckets].addr+program.bias, symbols[memProfileRate].addr+program.bias
		return h, nil
	}
	return nil, fmt.Errorf("process %d: %w", p.PID, ErrNotGo)
}

// A HeapSite is a call stack that allocated objects of one size.
type HeapSite struct {
	ID   uint64 // the same in each reading
	size uint64 // of an object, in bytes
	// Used counts the sampled objects in use when the runtime last published the garbage
	// collector's results. Kept adds the objects allocated since then and not freed yet; some
	// of them may be garbage. Allocated counts all published allocations.
	Used, Kept, Allocated int64
	Frames                []callchain.Frame // leaf first
}

// Scale returns the number of objects that n sampled objects represent, and their bytes. The
// runtime samples an object with the probability 1-exp(-size/rate).
func (s *HeapSite) Scale(n int64, rate uint64) (objects, bytes uint64) {
	if n <= 0 {
		return 0, 0
	}
	scaled := float64(n)
	if rate > 1 && s.size > 0 {
		scaled /= -math.Expm1(-float64(s.size) / float64(rate))
	}
	return uint64(scaled + 0.5), uint64(scaled*float64(s.size) + 0.5)
}

// A bucket of the runtime's list is a header, return addresses and four records: the published
// one, and those of three garbage collection cycles that are not published yet (runtime.bucket,
// runtime.memRecord). The layout is the same in all known releases.
const (
	bucketNext   = 8
	bucketType   = 16
	bucketSize   = 32
	bucketDepth  = 40
	bucketHeader = 48
	memBucket    = 1 // runtime.memProfile
	recordBytes  = 32
	records      = 4
)

// Bounds for untrusted data.
const (
	maxBuckets = 1 << 18
	maxDepth   = 1 << 10 // of a bucket's stack; Go itself keeps at most 1024
)

// Read returns the sites of the heap and the runtime's sampling rate: the average number of
// bytes allocated per sampled object. The error wraps ErrNotSampled, the context's error, or
// why the memory can't be read.
func (h *Heap) Read(ctx context.Context) (sites []HeapSite, rate uint64, err error) {
	if rate, err = h.word(h.rate); err != nil {
		return nil, 0, err
	}
	if int64(rate) <= 0 {
		return nil, 0, fmt.Errorf("%s: %w", h.Path, ErrNotSampled)
	}
	next, err := h.word(h.buckets)
	if err != nil {
		return nil, 0, err
	}
	for n := 0; next != 0 && n < maxBuckets; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		site, following, err := h.site(next)
		if err != nil {
			return nil, 0, err
		}
		if site.size > 0 {
			sites = append(sites, site)
		}
		next = following
	}
	return sites, rate, nil
}

// word reads a word of the process.
func (h *Heap) word(addr uint64) (uint64, error) {
	var b [8]byte
	ok, err := readAt(h.memory, addr, b[:])
	if err == nil && !ok {
		err = fmt.Errorf("%s: address %#x of process %d can't be read", h.Path, addr, h.process.PID)
	}
	return binary.LittleEndian.Uint64(b[:]), err
}

// site reads a bucket. The site's size is 0 if the bucket is not part of the heap profile.
func (h *Heap) site(addr uint64) (site HeapSite, next uint64, err error) {
	var header [bucketHeader]byte
	word := func(b []byte, offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
	ok, err := readAt(h.memory, addr, header[:])
	if err != nil || !ok {
		return HeapSite{}, 0, err
	}
	depth := word(header[:], bucketDepth)
	next = word(header[:], bucketNext)
	if word(header[:], bucketType) != memBucket || depth > maxDepth {
		return HeapSite{}, next, nil
	}
	b := make([]byte, depth*8+records*recordBytes)
	if ok, err = readAt(h.memory, addr+bucketHeader, b); err != nil || !ok {
		return HeapSite{}, next, err
	}
	site = HeapSite{ID: addr, size: word(header[:], bucketSize)}
	for i := range uint64(records) {
		at := depth*8 + i*recordBytes
		allocated, freed := int64(word(b, at)), int64(word(b, at+8))
		if i == 0 {
			site.Used, site.Allocated = allocated-freed, allocated
		}
		site.Kept += allocated - freed
	}
	for i := range depth {
		pc := word(b, i*8)
		// An inlined call has its own entry, which is not a return address. Symbols show
		// inlined functions through the entry of the function that contains them.
		if i > 0 && !h.follows(pc) {
			continue
		}
		m, ok := h.process.Space.Find(pc - 1)
		if !ok {
			break
		}
		site.Frames = append(site.Frames, callchain.Frame{Object: m.Object, Return: true, Offset: pc - 1 - m.Start + m.Offset})
	}
	return site, next, nil
}

// follows reports whether a call instruction ends at pc.
func (h *Heap) follows(pc uint64) bool {
	var code [8]byte
	if ok, err := readAt(h.memory, pc-8, code[:]); err != nil || !ok {
		return false
	}
	if h.arch == callchain.ARM64 {
		op := binary.LittleEndian.Uint32(code[4:])
		return op>>26 == 0b100101 || op&0xfffffc1f == 0xd63f0000 // bl, blr
	}
	if code[3] == 0xe8 { // call rel32
		return true
	}
	for n := 2; n <= 7; n++ { // call through a register or memory: ff /2
		if code[8-n] == 0xff && code[8-n+1]>>3&7 == 2 {
			return true
		}
	}
	return false
}
