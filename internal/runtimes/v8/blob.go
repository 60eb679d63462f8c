package v8

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/arch/x86/x86asm"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// blob is the engine's own code in a program without symbols. The program's exported functions
// tell where it is. V8 13 no longer exports them.
type blob struct {
	mem            interp.Memory
	code, data     uint64 // addresses
	size, dataSize uint64
	names          uint64 // address of the names in the table of builtins
	nameSize       uint64 // bytes from one name to the next
}

const (
	blobHead       = 24 // bytes of hashes before the places of builtins
	leastNameSize  = 8
	mostNameSize   = 64
	maxPadding     = 128
	maxBlob        = 16 << 20 // bytes of code
	maxBlobData    = 1 << 20
	maxBlobStep    = 8 // instructions of a function
	bytesOfAnyStep = 16
)

// findBlob evaluates the program's functions. It returns false if the program does not export
// them, or they are not the known ones.
func findBlob(mem interp.Memory, symbol func(name string) (interp.Symbol, bool)) (*blob, bool) {
	b := &blob{mem: mem}
	ask := func(name string, argument uint64) (result, read uint64) {
		s, ok := symbol(name)
		if !ok {
			return 0, 0
		}
		f := function64{mem: mem}
		return f.call(s.Addr, argument)
	}
	b.code, _ = ask("_ZN2v88internal23DefaultEmbeddedBlobCodeEv", 0)
	b.data, _ = ask("_ZN2v88internal23DefaultEmbeddedBlobDataEv", 0)
	b.size, _ = ask("_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv", 0)
	b.dataSize, _ = ask("_ZN2v88internal27DefaultEmbeddedBlobDataSizeEv", 0)
	const name = "_ZN2v88internal8Builtins4nameENS0_7BuiltinE"
	_, b.names = ask(name, 0)
	_, second := ask(name, 1)
	b.nameSize = second - b.names
	known := b.code != 0 && b.data != 0 && b.names != 0 && b.size != 0 && b.size <= maxBlob && b.dataSize != 0 && b.dataSize <= maxBlobData &&
		leastNameSize <= b.nameSize && b.nameSize <= mostNameSize
	return b, known
}

// builtins lists the builtins. The size of an entry depends on the version: it is the one for
// which the builtins fill the code, one after another. The list is empty if none fits.
func (b *blob) builtins(offset func(addr uint64) (uint64, bool)) *builtins {
	data := make([]byte, b.dataSize)
	base, ok := offset(b.code)
	if !ok || !b.mem.Read(b.data, data) || len(data) < blobHead {
		return &builtins{}
	}
	for _, stride := range []int{12, 16, 28, 32} {
		if found, ok := b.list(data[blobHead:], stride, base); ok {
			return found
		}
	}
	return &builtins{}
}

// list lists the builtins if an entry has stride bytes. It returns false if they don't fill the
// code.
func (b *blob) list(places []byte, stride int, base uint64) (*builtins, bool) {
	found := &builtins{stripped: true}
	end := uint64(0)
	for i := uint64(0); len(places) >= stride && len(found.names) < maxBuiltins; i, places = i+1, places[stride:] {
		at, size := uint64(binary.LittleEndian.Uint32(places)), uint64(binary.LittleEndian.Uint32(places[4:]))
		name, ok := b.name(i)
		if !ok || size == 0 || at < end || at-end > maxPadding || at+size > b.size {
			break
		}
		end = at + size
		found.begins, found.names = append(found.begins, base+at), append(found.names, name)
	}
	found.end = base + b.size
	return found, len(found.names) > 0 && b.size-end <= maxPadding
}

// name returns the name of builtin i.
func (b *blob) name(i uint64) (string, bool) {
	var text [maxBuiltinName]byte
	var word [8]byte
	if !b.mem.Read(b.names+i*b.nameSize, word[:]) || !b.mem.Read(binary.LittleEndian.Uint64(word[:]), text[:]) {
		return "", false
	}
	end := bytes.IndexByte(text[:], 0)
	if end <= 0 || bytes.ContainsFunc(text[:end], func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", false
	}
	return string(text[:end]), true
}

// function64 evaluates a function of a few instructions that returns a constant or an element
// of a table.
type function64 struct {
	mem  interp.Memory
	regs map[x86asm.Reg]uint64
	read uint64 // address of the last read
}

// call returns the result of the function at pc and the address it was read from. It returns
// zeros for other kinds of functions.
func (f *function64) call(pc, argument uint64) (result, read uint64) {
	f.regs = map[x86asm.Reg]uint64{x86asm.RDI: argument}
	for range maxBlobStep {
		var code [bytesOfAnyStep]byte
		if !f.mem.Read(pc, code[:]) {
			return 0, 0
		}
		inst, err := x86asm.Decode(code[:], 64)
		if err != nil {
			return 0, 0
		}
		pc += uint64(inst.Len)
		switch inst.Op {
		case x86asm.RET:
			return f.regs[x86asm.RAX], f.read
		case x86asm.MOV, x86asm.MOVSXD, x86asm.LEA:
			to, ok := inst.Args[0].(x86asm.Reg)
			from, ok2 := f.operand(&inst, pc)
			if !ok || !ok2 {
				return 0, 0
			}
			f.regs[wide(to)] = from
		default:
			return 0, 0
		}
	}
	return 0, 0
}

// operand returns the value that an instruction moves. end is the address after the
// instruction.
func (f *function64) operand(inst *x86asm.Inst, end uint64) (uint64, bool) {
	switch from := inst.Args[1].(type) {
	case x86asm.Imm:
		return uint64(from), true
	case x86asm.Reg:
		return f.regs[wide(from)], true
	case x86asm.Mem:
		at := uint64(from.Disp) + f.regs[from.Index]*uint64(from.Scale)
		if from.Base == x86asm.RIP {
			at += end
		} else if from.Base != 0 {
			at += f.regs[from.Base]
		}
		if inst.Op == x86asm.LEA {
			return at, true
		}
		f.read = at
		b := make([]byte, 8)
		if to, _ := inst.Args[0].(x86asm.Reg); wide(to) != to {
			b = b[:4]
		}
		ok := f.mem.Read(at, b)
		return binary.LittleEndian.Uint64(append(b, make([]byte, 8)...)), ok
	}
	return 0, false
}

// wide returns the 64-bit register that contains a 32-bit register.
func wide(r x86asm.Reg) x86asm.Reg {
	if x86asm.EAX <= r && r <= x86asm.R15L {
		return r - x86asm.EAX + x86asm.RAX
	}
	return r
}
