package symbols

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// jitdump makes a file of records, with a header longer than today's.
func jitdump(records ...[]byte) []byte {
	var b []byte
	for _, v := range []uint32{jitdumpMagic, 1, jitdumpHeader + 8, 62, 0, 7} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, make([]byte, jitdumpHeader+8-len(b))...)
	return append(b, bytes.Join(records, nil)...)
}

func jitRecord(kind uint32, words []uint64, rest string) []byte {
	var b []byte
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(jitdumpPrefix+8+8*len(words)+len(rest)))
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = append(b, make([]byte, 8)...) // pid, tid
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return append(b, rest...)
}

func TestJitdumpFilesAreReadAsPerfMaps(t *testing.T) {
	load := func(addr, size, index uint64, name string) []byte {
		return jitRecord(jitdumpLoad, []uint64{addr, addr, size, index}, name+"\x00code")
	}
	file := jitdump(
		load(0x1000, 0x100, 1, "first"),
		jitRecord(2, []uint64{1, 2}, "lines"),
		load(0x2000, 0x100, 2, "second"),
		jitRecord(jitdumpMove, []uint64{0x3000, 0x1000, 0x3000, 0x100, 1}, ""),
		load(0x2040, 0x10, 3, "within"),
		jitRecord(jitdumpMove, []uint64{0x9000, 0x8000, 0x9000, 0x100, 99}, ""),
		load(0x4000, 0, 4, "nothing"),
		load(0x5000, 0x10, 5, "half")[:60],
	)
	p, err := ReadPerfMap(bytes.NewReader(file), 0)
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x1010: "first", 0x2000: "second", 0x2045: "within", 0x2050: "second", 0x30ff: "first", 0x3100: "", 0x9010: "", 0x5000: ""} {
		if got, _ := p.Lookup(addr); got.Name != want {
			t.Errorf("%#x is %q, want %q", addr, got.Name, want)
		}
	}
	if p.BadLines != 2 || p.Cut {
		t.Errorf("%d bad records, cut %v", p.BadLines, p.Cut)
	}
}

func FuzzJitdump(f *testing.F) {
	f.Add(jitdump(jitRecord(jitdumpLoad, []uint64{0x1000, 0x1000, 0x100, 1}, "a\x00code"), jitRecord(jitdumpMove, []uint64{0x3000, 0x1000, 0x3000, 0x100, 1}, "")))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, err := ReadPerfMap(bytes.NewReader(file), 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range p.ranges {
			if i > 0 && p.ranges[i-1].start+uint64(p.ranges[i-1].size) > e.start {
				t.Fatalf("range %d overlaps the one before", i)
			}
			if s, ok := p.Lookup(e.start); !ok || len(s.Name) > maxSymbolName {
				t.Fatalf("range %d: %+v, %v", i, s, ok)
			}
		}
	})
}
