package hotspot

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

// everywhere is an address space of code without tables.
type everywhere struct{}

func (everywhere) Find(pc uint64) (callchain.Mapping, bool) {
	return callchain.Mapping{Start: 0, End: 1 << 62, Object: 1}, pc < 1<<62
}

// steps has a Runtime asked about each frame.
type steps struct {
	*Runtime
	levels []interp.Level
}

func (s *steps) Step(a *callchain.Activation) {
	s.levels = s.Runtime.Step(s.levels[:0], a)
	for range s.levels {
		a.Frames = append(a.Frames, callchain.Frame{Object: 2})
	}
}

// layoutOf is a layout whose offsets are a few words each, so that structures overlap.
func layoutOf(b []byte) *layout {
	offset := func(i int) uint64 { return uint64(b[i%len(b)]) % 128 }
	return &layout{
		heaps: 8, heap: absent, arrayLength: 0, arrayData: 8, memory: 0, segments: 64, segmentBits: offset(0), low: 8, top: 16,
		blockSize: 16, used: 8, blobName: 96, blobSize: 12, frameSize: 28, complete: 20, code: 32, codeOffset: absent, kind: absent,
		nmethodSize: 352, method: 112, compileID: 304, scopesPCs: offset(1), scopesEnd: offset(2), metadata: offset(3), scopesBegin: 120, scopesData: absent,
		immutable: absent, mutable: absent, relocation: absent, pcDescSize: 16, pcOffset: 0, decode: 4, interpreter: offset(4), stubBuffer: 8, stubLimit: 20,
		codeletSize: 8, codeletText: 0, methodConst: 8, constants: 8, codeSize: 32, constFlags: 28, nameIndex: 34, signatureIndex: 36, constSize: 48,
		tags: 8, tagsData: 4, holder: 24, poolLength: 60, sourceFile: 54, klassSourceFile: absent, poolSize: 72, klassName: 24, symbolLength: 4, symbolBody: 6, lineTable: 1,
	}
}

func FuzzHostileMemoryIsLeft(f *testing.F) {
	for _, isARM := range []bool{false, true} {
		f.Add([]byte{0}, []byte("a stack"), uint64(0x1000), isARM)
		f.Add(binary.LittleEndian.AppendUint64(nil, 0x1000), make([]byte, 256), uint64(0x1008), isARM)
		f.Add([]byte{1, 0, 1, 16, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 1}, make([]byte, 512), uint64(0x2000), isARM)
		f.Add(codeOf(interpretedARM64[21]...), make([]byte, 512), uint64(0x2000), isARM)
	}
	f.Fuzz(func(t *testing.T, memory, stack []byte, pc uint64, isARM bool) {
		if len(stack) > 1<<12 || len(memory) > 1<<16 {
			t.Skip()
		}
		arch := callchain.AMD64
		if isARM {
			arch = callchain.ARM64
		}
		read := 0
		r := newRuntime(hostile{memory, &read}, machineOf(arch), layoutOf(append(memory, 64)), 8+pc%18)
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
		if most := (len(stack)/8 + 3) * (maxInlined + 1); len(frames) > most {
			t.Errorf("%d frames in a stack of %d bytes", len(frames), len(stack))
		}
		if most := (1 + len(stack)/8) * (64 << 20); read > most {
			t.Errorf("%d bytes were read", read)
		}
		r.methodAt(pc &^ 7)
		b := blob{addr: pc, code: pc, method: pc &^ 7, head: memory}
		if len(memory) >= 8 {
			r.scopes(nil, &b, pc+uint64(len(stack)), pc%2 == 0)
		}
	})
}

// Code of any kind, at any place, leaves a frame of some size.
func FuzzHostileCodeIsLeft(f *testing.F) {
	f.Add(codeOf(interpretedARM64[21]...), 4, 8, uint64(80))
	f.Add([]byte{0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20, 0xc9, 0xc3}, 1, 8, uint64(48))
	f.Add(codeOf(0x17ffffff, 0x14000000, ret), 0, 0, uint64(0))
	f.Fuzz(func(t *testing.T, code []byte, at, complete int, frame uint64) {
		if at < 0 || at > len(code) || complete < 0 || complete > 1<<20 || frame > maxFrame {
			return // no code has such a place or such a frame
		}
		for _, arch := range []callchain.Arch{callchain.AMD64, callchain.ARM64} {
			m := machineOf(arch)
			if of, below := m.leaf(code, at, complete, frame); of == whole && below > max(frame, 16) {
				t.Errorf("%v: a frame of %d bytes has %d", arch, frame, below)
			}
			m.stub(code, at, frame%2 == 0)
			m.entry(code, uint64(at))
		}
	})
}

func FuzzHostileTablesAreLeft(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{8, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 1})
	f.Fuzz(func(t *testing.T, memory []byte) {
		read := 0
		tables, ok := readTables(hostile{memory, &read}, func(name string) (interp.Symbol, bool) {
			return interp.Symbol{Addr: uint64(len(name)) * 4096}, true
		})
		if read > 4*maxPages*pageSize {
			t.Errorf("%d bytes were read", read)
		}
		if ok {
			_, _ = newLayout(tables)
		}
	})
}
