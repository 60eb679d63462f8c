package v8

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// machineCode puts instructions and data into memory at an address.
func machineCode(addr uint64, parts ...[]byte) interp.Page {
	var all []byte
	for _, p := range parts {
		all = append(all, p...)
	}
	return interp.Page{Addr: addr, Bytes: append(all, make([]byte, 64)...)}
}

// Each way in which compilers of Node's releases return a constant, or an element of a table.
func TestFunctionsOfAProgramTellWhatTheyReturn(t *testing.T) {
	word := binary.LittleEndian.AppendUint64(nil, 0x1122334455667788)
	for _, test := range []struct {
		name     string
		code     []byte
		argument uint64
		result   uint64
		read     uint64
	}{
		{"mov $0x1d52000,%eax", []byte{0xb8, 0x00, 0x20, 0xd5, 0x01, 0xc3}, 0, 0x1d52000, 0},
		{"mov 0xff9(%rip),%rax", []byte{0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0, 0xc3}, 0, 0x1122334455667788, 0x2000},
		{"mov 0xffa(%rip),%eax", []byte{0x8b, 0x05, 0xfa, 0x0f, 0, 0, 0xc3}, 0, 0x55667788, 0x2000},
		{"lea 0xff9(%rip),%rax; mov (%rax),%rax", []byte{0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0, 0x48, 0x8b, 0x00, 0xc3}, 0, 0x1122334455667788, 0x2000},
		{"movslq %edi,%rdi; lea (%rdi,%rdi,2),%rax; mov 0x1fe8(,%rax,8),%rax", []byte{0x48, 0x63, 0xff, 0x48, 0x8d, 0x04, 0x7f, 0x48, 0x8b, 0x04, 0xc5, 0xe8, 0x1f, 0, 0, 0xc3}, 1, 0x1122334455667788, 0x2000},
		{"call", []byte{0xe8, 0, 0, 0, 0, 0xc3}, 0, 0, 0},
		{"jmp to itself", []byte{0xeb, 0xfe}, 0, 0, 0},
		{"mov (%rbx),%rax, of nothing", []byte{0x48, 0x8b, 0x03, 0xc3}, 0, 0, 0},
	} {
		f := function64{mem: interp.Image{machineCode(0x1000, test.code), machineCode(0x2000, word)}}
		if result, read := f.call(0x1000, test.argument); result != test.result || read != test.read {
			t.Errorf("%s: %#x from %#x, want %#x from %#x", test.name, result, read, test.result, test.read)
		}
	}
}

// blobOf is a program with three builtins of 20, 40 and 60 bytes, of each of which so many
// bytes are kept.
func blobOf(stride int) *blob {
	data := make([]byte, blobHead, blobHead+4*stride)
	at := uint32(0)
	for _, size := range []uint32{20, 40, 60} {
		record := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, at), size)
		data = append(append(data, record...), make([]byte, stride-len(record))...)
		at = (at + size + 64) &^ 63
	}
	mem := interp.Image{
		{Addr: 0x10000, Bytes: data},
		words(0x20000, 0x30000, 0, 0, 0x30100, 0, 0, 0x30200, 0, 0),
		machineCode(0x30000, []byte("ArrayMap"), make([]byte, 0x200+maxBuiltinName)),
	}
	copy(mem[2].Bytes[0x100:], "AddHandler")
	copy(mem[2].Bytes[0x200:], "InterpreterEntryTrampoline")
	return &blob{mem: mem, code: 0x400000, data: 0x10000, size: uint64(at), dataSize: uint64(len(data)), names: 0x20000, nameSize: 24}
}

func TestBuiltinsFillTheCodeOfAProgramWithoutSymbols(t *testing.T) {
	offset := func(addr uint64) (uint64, bool) { return addr - 0x400000 + 0x1000, true }
	for _, stride := range []int{12, 16, 28, 32} {
		got := blobOf(stride).builtins(offset)
		want := []string{"ArrayMap", "AddHandler", "InterpreterEntryTrampoline"}
		if diff := cmp.Diff(want, got.names); diff != "" || !got.stripped {
			t.Errorf("%d bytes each: (-want +got):\n%s", stride, diff)
		}
		if name := got.at(0x1040 + 39); name != "AddHandler" {
			t.Errorf("%d bytes each: %q is at the end of the second", stride, name)
		}
	}
	more := blobOf(16)
	more.size += 1024 // that no builtin fills
	if got := more.builtins(offset); len(got.names) > 0 {
		t.Errorf("%v fill the code", got.names)
	}
	if got := blobOf(20).builtins(offset); len(got.names) > 0 {
		t.Errorf("%v with records of a size that no version has", got.names)
	}
}
