package symbols

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
)

// goTableText is where the code of goTableBytes begins.
const goTableText = 0x401000

// goTableBytes makes a table of one function, main.outer in /src/a.go, 16 bytes
// long and declared at line 10, into whose bytes 4 to 7 main.inner was inlined
// (from line 20 on) by the call at its byte 12. It returns the table and where in
// it the inline tree is.
func goTableBytes(magic gotable.Version) (table []byte, tree uint64) {
	const headerSize = 8 + 8*8
	names := []byte("main.outer\x00main.inner\x00")
	files := []byte("\x00/src/a.go\x00")
	// Pairs of (value difference in zigzag form, length); values begin at -1.
	pcs := []byte{0} // offset 0 means no table
	pcfile := uint32(len(pcs))
	pcs = append(pcs, 2, 16, 0) // 0 for all 16 bytes
	pcline := uint32(len(pcs))
	pcs = append(pcs, 24, 4, 20, 4, 19, 4, 4, 4, 0) // 11, 21, 11, 13
	inline := uint32(len(pcs))
	pcs = append(pcs, 0, 4, 2, 4, 1, 8, 0) // -1, 0, -1

	le := binary.LittleEndian
	u32 := func(b []byte, values ...uint32) []byte {
		for _, v := range values {
			b = le.AppendUint32(b, v)
		}
		return b
	}
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&7)...) }

	relative := magic == gotable.Go118 || magic == gotable.Go120
	var out []byte
	var base, ftab, fn int
	if magic == gotable.Go12 { // header, function table, offset of files, all else
		out = append(u32(nil, uint32(magic)), 0, 0, 1, 8)
		out = le.AppendUint64(out, 1)
		ftab = len(out)
		out = append(out, make([]byte, 3*8+4)...)
	} else {
		out = make([]byte, headerSize)
		le.PutUint32(out, uint32(magic))
		out[6], out[7] = 1, 8
	}
	offset := map[string]uint32{}
	put := func(name string, b []byte) {
		out = pad(out)
		offset[name] = uint32(len(out))
		out = append(out, b...)
	}
	put("names", names)
	put("units", u32(nil, 1)) // file 0 of unit 0 is at offset 1
	put("files", files)
	put("pcs", pcs)
	if magic != gotable.Go12 {
		out = pad(out)
		base = len(out)
		ftab = len(out)
		size := 3 * 8
		if relative {
			size = 3 * 4
		}
		out = append(out, make([]byte, size)...)
	}
	out = pad(out)
	fn = len(out)
	in := func(name string, off uint32) uint32 { // before Go 1.16 all offsets are from the header
		if magic == gotable.Go12 {
			return offset[name] + off
		}
		return off
	}
	if relative {
		out = u32(out, 0)
	} else {
		out = le.AppendUint64(out, goTableText)
	}
	out = u32(out, in("names", 0), 0, 0, 0, in("pcs", pcfile), in("pcs", pcline), 3, 0)
	if magic == gotable.Go120 {
		out = u32(out, 10)
	}
	out = append(out, 0, 0, 0, 4)                           // nfuncdata
	out = u32(out, 0, 0, inline)                            // pcdata
	out = u32(out, 0xffffffff, 0xffffffff, 0xffffffff, 4*4) // funcdata: the tree lies 16 bytes from gofunc
	put("tree", make([]byte, 16))
	if magic == gotable.Go120 {
		out = u32(out, 0, 11, 12, 20) // id, name, call, start line
	} else {
		out = u32(out, 0, 0, 0, 11, 12) // parent and id, file, line, name, call
	}

	switch {
	case magic == gotable.Go12:
		le.PutUint64(out[ftab:], goTableText)
		le.PutUint64(out[ftab+8:], uint64(fn))
		le.PutUint64(out[ftab+16:], goTableText+16)
		put("filetab", u32(nil, offset["files"]+1))
		le.PutUint32(out[ftab+24:], offset["filetab"])
	case magic == gotable.Go116:
		le.PutUint64(out[ftab:], goTableText)
		le.PutUint64(out[ftab+8:], uint64(fn-base))
		le.PutUint64(out[ftab+16:], goTableText+16)
	default:
		le.PutUint32(out[ftab+4:], uint32(fn-base))
		le.PutUint32(out[ftab+8:], 16)
	}
	if magic != gotable.Go12 {
		words := []uint64{1, 1, goTableText, uint64(offset["names"]), uint64(offset["units"]), uint64(offset["files"]), uint64(offset["pcs"]), uint64(base)}
		if magic == gotable.Go116 {
			words = slices.Delete(words, 2, 3)
		}
		for i, w := range words {
			le.PutUint64(out[8+8*i:], w)
		}
	}
	return out, uint64(offset["tree"])
}

// goTableOf parses data as the table of a file that holds nothing else.
func goTableOf(data []byte) (*goLines, error) {
	image := &elfimage.Image{
		Reader: bytes.NewReader(data), Size: int64(len(data)), Order: binary.LittleEndian, Is64: true,
		Segments: []elf.ProgHeader{{Type: elf.PT_LOAD, Flags: elf.PF_R, Filesz: uint64(len(data)), Memsz: uint64(len(data))}},
	}
	table, err := gotable.New(image, 0, data)
	return &goLines{table, image.Order}, err
}

func TestGoTablesOfEveryVersion(t *testing.T) {
	for name, magic := range map[string]gotable.Version{
		"Go 1.2": gotable.Go12, "Go 1.16": gotable.Go116, "Go 1.18": gotable.Go118, "Go 1.20": gotable.Go120,
	} {
		t.Run(name, func(t *testing.T) {
			data, tree := goTableBytes(magic)
			table, err := goTableOf(data)
			if err != nil {
				t.Fatal(err)
			}
			table.GoFunc = tree
			b := &builder{code: []codeRange{{goTableText, goTableText + 32}}}
			if err := b.addGoTable(table.Table); err != nil {
				t.Fatal(err)
			}
			symbols := b.finish()
			if i, ok := symbols.lookup(goTableText + 15); !ok || symbols.name(i) != "main.outer" || symbols.entries[i].size != 16 {
				t.Errorf("last byte of main.outer: %d, %v among %+v", i, ok, symbols)
			}
			if _, ok := symbols.lookup(goTableText + 16); ok {
				t.Error("the byte behind main.outer has a name")
			}

			start := 0
			if magic == gotable.Go120 {
				start = 10
			}
			outer := func(line int) []Line {
				return []Line{{Function: "main.outer", File: "/src/a.go", Line: line, StartLine: start}}
			}
			want := map[uint64][]Line{0: outer(11), 8: outer(11), 15: outer(13)}
			if start != 0 {
				want[5] = append([]Line{{Function: "main.inner", File: "/src/a.go", Line: 21, StartLine: 20}}, outer(13)...)
			} else if magic == gotable.Go118 {
				want[5] = append([]Line{{Function: "main.inner", File: "/src/a.go", Line: 21}}, outer(13)...)
			} else {
				want[5] = outer(21) // inline trees of that time are not read
			}
			for off, want := range want {
				if got := table.lines(goTableText + off); !slices.Equal(got, want) {
					t.Errorf("byte %d: got %+v, want %+v", off, got, want)
				}
			}
			for _, addr := range []uint64{0, goTableText - 1, goTableText + 16} {
				if got := table.lines(addr); got != nil {
					t.Errorf("%#x: got %+v, want nothing", addr, got)
				}
			}
		})
	}
}
