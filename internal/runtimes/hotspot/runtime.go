package hotspot

import (
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Runtime is a Java virtual machine in a process. It belongs to one goroutine.
type Runtime struct {
	mem     interp.Memory
	machine *machine
	layout  *layout
	name    string
	biased  bool // see stream
	marks   bool // its code may put marks on its frames, see machine.mark

	slotBytecode uint64 // see machine
	age          uint64 // number of the sample: data read for it is not read again

	interpreter interpreter
	heaps       []heap
	methods     map[uint64]*method
	blobs       []blob // sorted by address
	blobNames   map[uint64]string
	known       map[[3]uint64][]interp.Level
	scratch     []scope
	texts       map[uint64]text // by the blob's address
	texted      int             // total bytes of texts
}

// maxPlaces bounds the cached places of compiled code.
const maxPlaces = 1 << 16

// Detect attaches to the virtual machine in a module. It returns nil without an error if m is
// not one.
func Detect(p *interp.Process, m *interp.Module) (interp.Stepper, error) {
	if _, ok := m.Symbol("gHotSpotVMStructs"); !ok {
		return nil, nil
	}
	machine := machineOf(p.Arch)
	if machine == nil {
		return nil, unknown(fmt.Sprintf("its frames are not known on %v", p.Arch))
	}
	t, ok := readTables(p.Memory, m.Symbol)
	if !ok {
		return nil, unknown("the tables of its structures can't be read")
	}
	l, err := newLayout(t)
	if err != nil {
		return nil, unknown(err.Error())
	}
	return newRuntime(p.Memory, machine, l, version(p.Memory, t)), nil
}

func newRuntime(mem interp.Memory, machine *machine, l *layout, major uint64) *Runtime {
	const biasedSince, marksUntil = 20, 16
	slot := machine.slotBytecode
	if major == 8 {
		slot = machine.slotBytecode8
	}
	return &Runtime{mem: mem, machine: machine, layout: l, name: fmt.Sprintf("HotSpot %d", major), biased: major >= biasedSince, slotBytecode: slot,
		marks:   machine.mark != nil && major <= marksUntil,
		methods: make(map[uint64]*method), blobNames: make(map[uint64]string), known: make(map[[3]uint64][]interp.Level), texts: make(map[uint64]text)}
}

func unknown(why string) error {
	return &interp.UnknownError{Name: "HotSpot", Why: why, Help: "--jvm has it write a map of its compiled code"}
}

// version returns the major version of the machine's JDK, or 0 if it does not say.
func version(mem interp.Memory, t *tables) uint64 {
	v := &view{mem: mem}
	at, ok := t.offsets["Abstract_VM_Version::_vm_major_version"]
	if !ok {
		return 0
	}
	major := uint64(v.u32(at))
	if _, ok := t.offsets["CodeCache::_heaps"]; !ok {
		// Up to JDK 8 the machine had its own version; JDK 8's is 25.
		const ahead = 17
		major -= min(major, ahead)
	}
	return major
}

// Name implements interp.Stepper.
func (r *Runtime) Name() string { return r.name }

// Step implements interp.Stepper.
func (r *Runtime) Step(dst []interp.Level, a *callchain.Activation) []interp.Level {
	if a.Exact { // a new sample
		r.age++
	}
	if !a.Generated {
		return dst
	}
	if _, ok := r.heapOf(a.PC); !ok {
		return dst
	}
	if r.interprets(a.PC) {
		return r.interpreted(dst, a)
	}
	at := a.PC
	if !a.Exact {
		at--
	}
	b, ok := r.blobAt(at)
	if !ok {
		return dst
	}
	if b.method == 0 {
		return r.stub(dst, &b, a)
	}
	r.leave(a, &b)
	return r.compiled(dst, &b, a)
}

// compiled appends the methods at a place of compiled code, innermost first.
func (r *Runtime) compiled(dst []interp.Level, b *blob, a *callchain.Activation) []interp.Level {
	at := key(b, a.PC, a.Exact)
	if levels, ok := r.known[at]; ok {
		return append(dst, levels...)
	}
	from := len(dst)
	r.scratch = r.scopes(r.scratch[:0], b, a.PC, a.Exact)
	for i, s := range r.scratch {
		m := r.methodAt(s.method)
		if m == nil {
			return dst[:from]
		}
		level := interp.Level{Frame: m.frame(s.bci), Offset: uint64(max(s.bci, 0))}
		if i == len(r.scratch)-1 {
			level.Offset = a.PC - b.code
		}
		dst = append(dst, level)
	}
	if len(r.known) >= maxPlaces {
		clear(r.known)
	}
	r.known[at] = append([]interp.Level(nil), dst[from:]...)
	return dst
}
