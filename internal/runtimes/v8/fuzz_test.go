package v8

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// hostile is memory that is made to mislead: everywhere something lies, the same bytes
// over and over. It counts what is read.
type hostile struct {
	bytes []byte
	read  *int
}

func (h hostile) Read(addr uint64, b []byte) bool {
	if *h.read += len(b) + 100; len(h.bytes) == 0 {
		return false
	}
	for i := range b {
		b[i] = h.bytes[(addr+uint64(i))%uint64(len(h.bytes))]
	}
	return true
}

// everywhere is an address space of code without tables, of two objects.
type everywhere struct{}

func (everywhere) Find(pc uint64) (callchain.Mapping, bool) {
	return callchain.Mapping{Start: 0, End: 1 << 62, Object: callchain.ObjectID(1 + pc>>16&1)}, pc < 1<<62
}

type steps struct {
	*Runtime
	levels []interp.Level
}

func (s *steps) Step(a *callchain.Activation) {
	s.levels = s.Runtime.Step(s.levels[:0], a)
	for range s.levels {
		a.Frames = append(a.Frames, callchain.Frame{Object: 3})
	}
}

func FuzzHostileMemoryIsLeft(f *testing.F) {
	f.Add([]byte{0}, []byte("a stack"), uint64(0x1000))
	f.Add(binary.LittleEndian.AppendUint64(nil, 0x1001), make([]byte, 256), uint64(0x1008))
	// An address in a register: mov $0x1001,%eax; ret.
	f.Add([]byte{0xb8, 0x01, 0x10, 0, 0, 0xc3, 0x90, 0x90}, make([]byte, 64), uint64(0x1000))
	f.Add([]byte{1, 0, 1, 16, 6, 1, 0, 0, 64, 0, 0, 0, 5, 1, 0, 1}, make([]byte, 512), uint64(0x12000))
	// stp x29, x30, [sp, #-16]!; mov x29, sp.
	f.Add([]byte{0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0, 0x91}, make([]byte, 64), uint64(0x1000))
	f.Fuzz(func(t *testing.T, memory, stack []byte, pc uint64) {
		if len(stack) > 1<<12 || len(memory) > 1<<16 {
			t.Skip()
		}
		for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
			walkHostile(t, arch, memory, stack, pc)
		}
	})
}

// walkHostile walks a stack, and reads what may be objects.
func walkHostile(t *testing.T, arch callchain.Arch, memory, stack []byte, pc uint64) {
	t.Helper()
	read := 0
	l := ofNode20()
	if len(memory) > 8 { // types that memory is more likely to have
		l.isShared, l.isScope, l.isScript = binary.LittleEndian.Uint16(memory), binary.LittleEndian.Uint16(memory[2:]), binary.LittleEndian.Uint16(memory[4:])
		l.isCode, l.isBytes[0], l.isArray[0] = l.isShared, l.isScope, l.isScript
		l.isBytecodes, l.isWrapper = l.isScope, l.isShared
		if memory[0]&1 != 0 { // code that its object ends with
			l.startAt, l.header, l.sizeAt = 0, 96, 40
		}
	}
	object := func() callchain.ObjectID { return 2 }
	r := newRuntime(hostile{memory, &read}, machineOf(arch), l, object, &builtins{begins: []uint64{0, 1 << 16}, names: []string{"AddHandler", "ArrayMap"}, end: 1 << 40})
	var c callchain.Capture
	mask := arch.UserRegsMask()
	var values []uint64
	for m, i := mask, uint64(0); m != 0; m, i = m&(m-1), i+1 {
		values = append(values, pc+i*8)
	}
	if err := c.Regs.Load(arch, mask, values); err != nil {
		t.Fatal(err)
	}
	c.Stack, c.Runtime = stack, &steps{Runtime: r}
	frames, _ := callchain.New(arch).Unwind(nil, everywhere{}, &c)
	if most := (len(stack)/8 + 2) * (maxDepth + 2); len(frames) > most {
		t.Errorf("%d frames in a stack of %d bytes", len(frames), len(stack))
	}
	if most := (1 + len(stack)/8) * (256 << 20); read > most {
		t.Errorf("%d bytes were read", read)
	}
	r.functionAt(pc &^ 7)
	r.codeAt(pc)
	r.heap.position(pc|1, 5)
	symbols := func(name string) (interp.Symbol, bool) { return interp.Symbol{Addr: uint64(len(name))}, true }
	if v, ok := readVersion(hostile{memory, &read}, symbols); ok {
		_, _ = newLayout(&reader{mem: hostile{memory, &read}, symbol: symbols}, v)
	}
	_, _ = newLayout(&reader{mem: hostile{memory, &read}, symbol: symbols}, editions[len(memory)%len(editions)].of[0])
	if b, ok := findBlob(hostile{memory, &read}, symbols); ok {
		b.builtins(func(addr uint64) (uint64, bool) { return addr, true })
	}
}
