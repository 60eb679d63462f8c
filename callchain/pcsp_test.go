package callchain

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/internal/object/gotable"
)

// goTableBytes is a pclntab of Go 1.20's layout with two functions: one of 32
// bytes that pushes rbp and takes 24 bytes more, and one of 16 bytes that is
// the outermost of its stack.
func goTableBytes() []byte {
	le := binary.LittleEndian
	var b []byte
	b = le.AppendUint32(b, uint32(gotable.Go120))
	b = append(b, 0, 0, 1, 8) // padding, bytes of the smallest instruction, of a pointer
	for _, v := range []uint64{2, 0, 0x401000, 0, 0, 0, 72, 84} {
		b = le.AppendUint64(b, v) // functions, files, text, names, units, files, pctab, functab
	}
	b = append(b,
		0,    // no table at offset 0
		2, 1, // delta 0 for 1 byte: push rbp
		16, 7, // delta 8 for 7 bytes
		48, 23, // delta 32 for 23 bytes
		63, 1, // delta 0 for 1 byte: ret
		0, 0, 0)
	// functab: entry and record of each function, then the end of the text.
	for _, v := range []uint32{0, 20, 32, 64, 48} {
		b = le.AppendUint32(b, v)
	}
	for i, flag := range []byte{0, gotable.TopFrame} {
		record := make([]byte, 44)
		le.PutUint32(record, uint32(i)*32)
		le.PutUint32(record[16:], 1)
		record[41] = flag
		b = append(b, record...)
	}
	return b
}

func TestGoTableGivesARowForEachStackDepth(t *testing.T) {
	compiled := fuzzFile(AMD64, "", nil)
	var err error
	if compiled.golang, err = gotable.New(compiled.file, 0, goTableBytes()); err != nil {
		t.Fatal(err)
	}
	if !compiled.FramePointers() {
		t.Error("Go code keeps frame pointers")
	}
	for _, test := range []struct {
		offset uint64
		cfa    int32 // above the stack pointer
		saved  bool  // rbp is on the stack
	}{
		{0x401000, 8, false},
		{0x401001, 16, true},
		{0x401008, 40, true},
		{0x40101e, 40, true},
		{0x40101f, 8, false},
	} {
		set := compiled.find(test.offset)
		if set == nil {
			t.Errorf("no rule at %#x", test.offset)
			continue
		}
		if set.cfa.val != test.cfa || (len(set.rules) == 1) != test.saved {
			t.Errorf("at %#x the frame is %d bytes, %d registers saved; want %d, saved %v",
				test.offset, set.cfa.val, len(set.rules), test.cfa, test.saved)
		}
	}
	if set := compiled.find(0x401028); set == nil || set.ra.kind != ruleUndefined {
		t.Errorf("the outermost function has the rule %+v", set)
	}
	if set := compiled.find(0x401030); set != nil {
		t.Errorf("there is a rule behind the end of the text: %+v", set)
	}
}
