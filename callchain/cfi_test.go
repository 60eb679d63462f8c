package callchain

import (
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/internal/object/callframe"
)

// Call frame instructions (DWARF 5, 6.4.2 and 7.24). The first three carry an
// operand in their low six bits.
const (
	cfaAdvanceLoc   = 0x40
	cfaOffset       = 0x80
	cfaRestore      = 0xc0
	cfaNop          = 0x00
	cfaSetLoc       = 0x01
	cfaAdvanceLoc1  = 0x02
	cfaAdvanceLoc2  = 0x03
	cfaAdvanceLoc4  = 0x04
	cfaOffsetExt    = 0x05
	cfaRestoreExt   = 0x06
	cfaUndefined    = 0x07
	cfaSameValue    = 0x08
	cfaRegister     = 0x09
	cfaRemember     = 0x0a
	cfaRestoreState = 0x0b
	cfaDefCFA       = 0x0c
	cfaDefCFAReg    = 0x0d
	cfaDefCFAOffset = 0x0e
	cfaDefCFAExpr   = 0x0f
	cfaExpression   = 0x10
	cfaOffsetExtSF  = 0x11
	cfaDefCFASF     = 0x12
	cfaDefCFAOffSF  = 0x13
	cfaValOffset    = 0x14
	cfaValOffsetSF  = 0x15
	cfaValExpr      = 0x16
	cfaNegateRAPC   = 0x2c // arm64: signed return address, with the signing pc
	cfaNegateRA     = 0x2d // arm64: toggles a signed return address
	cfaArgsSize     = 0x2e // GNU: for exception landing pads only
	cfaNegOffsetExt = 0x2f // GNU, obsolete
)

// udata4 encodes pointers as addresses of four bytes.
const udata4 = 0x03

// frameBytes builds an .eh_frame of one CIE and one FDE at 0x1000 with size
// bytes of code. Both begin at offset 0 of a record that is padded as given.
func frameBytes(augmentation string, augmentationData, initial, program []byte, size uint32) []byte {
	record := func(body []byte) []byte {
		for len(body)%8 != 4 {
			body = append(body, cfaNop)
		}
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	cie := []byte{0, 0, 0, 0, 1} // id, version
	cie = append(append(cie, augmentation...), 0)
	cie = append(cie, 1, 0x78, 16) // code align 1, data align -8, rip
	if augmentation != "" {
		cie = append(append(cie, byte(len(augmentationData))), augmentationData...)
	}
	data := record(append(cie, initial...))
	fde := binary.LittleEndian.AppendUint32(nil, uint32(len(data)+4)) // back to the CIE
	fde = binary.LittleEndian.AppendUint32(fde, 0x1000)
	fde = binary.LittleEndian.AppendUint32(fde, size)
	if augmentation != "" {
		fde = append(fde, 0)
	}
	return append(append(data, record(append(fde, program...))...), 0, 0, 0, 0)
}

// entryRules: the CFA is rsp+8, the return address at CFA-8.
var entryRules = []byte{cfaDefCFA, 7, 8, cfaOffset | 16, 1}

func TestCallFrameInstructionsMakeRows(t *testing.T) {
	names := columnNames(AMD64)
	for _, test := range []struct {
		name    string
		program []byte
		at      uint64
		want    map[string]string
	}{
		{"nothing but the CIE's", nil, 0x1000, map[string]string{"CFA": "rsp+8", "ra": "c-8"}},
		{"before an advance", []byte{cfaAdvanceLoc | 4, cfaDefCFAOffset, 16}, 0x1003, map[string]string{"CFA": "rsp+8"}},
		{"after an advance", []byte{cfaAdvanceLoc | 4, cfaDefCFAOffset, 16}, 0x1004, map[string]string{"CFA": "rsp+16"}},
		{"advance by two bytes", []byte{cfaAdvanceLoc2, 0x20, 0, cfaDefCFAReg, 6}, 0x1020, map[string]string{"CFA": "rbp+8"}},
		{"set_loc", []byte{cfaSetLoc, 0x10, 0x10, 0, 0, cfaDefCFAReg, 6}, 0x1010, map[string]string{"CFA": "rbp+8"}},
		{"remember and restore", []byte{cfaRemember, cfaDefCFAOffset, 80, cfaAdvanceLoc | 1, cfaRestoreState}, 0x1001, map[string]string{"CFA": "rsp+8"}},
		{"restore to the CIE's rule", []byte{cfaUndefined, 16, cfaRestore | 16}, 0x1000, map[string]string{"ra": "c-8"}},
		{"undefined return address", []byte{cfaUndefined, 16}, 0x1000, map[string]string{"ra": "u"}},
		{"signed offset", []byte{cfaOffsetExtSF, 3, 0x7e}, 0x1000, map[string]string{"rbx": "c+16"}},
		{"obsolete negative offset", []byte{cfaNegOffsetExt, 3, 2}, 0x1000, map[string]string{"rbx": "c+16"}},
		{"val_offset", []byte{cfaValOffset, 7, 0}, 0x1000, map[string]string{"rsp": "v+0"}},
		{"register", []byte{cfaRegister, 3, 12}, 0x1000, map[string]string{"rbx": "r12"}},
		{"expression", []byte{cfaExpression, 3, 2, 0x77, 8}, 0x1000, map[string]string{"rbx": "exp"}},
		{"CFA by expression", []byte{cfaDefCFAExpr, 2, 0x77, 8}, 0x1000, map[string]string{"CFA": "exp"}},
		{"argument size is skipped", []byte{cfaArgsSize, 0x80, 1, cfaDefCFAOffset, 24}, 0x1000, map[string]string{"CFA": "rsp+24"}},
		{"vector registers are skipped", []byte{cfaOffset | 33, 4, cfaDefCFAOffset, 24}, 0x1000, map[string]string{"CFA": "rsp+24"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			table := compileFrames(t, frameBytes("zR", []byte{udata4}, entryRules, test.program, 64))
			if table == nil {
				t.Fatal("no function")
			}
			set := table.find(test.at)
			if set == nil {
				t.Fatalf("no rule at %#x", test.at)
			}
			got := describeSet(table, set)
			for column, want := range test.want {
				if got[column] != want {
					t.Errorf("%s is %s, want %s (of %v)", column, got[column], want, names)
				}
			}
		})
	}
}

func TestFunctionsEndWhereTheirRecordsSay(t *testing.T) {
	table := compileFrames(t, frameBytes("zR", []byte{udata4}, entryRules, nil, 64))
	for offset, covered := range map[uint64]bool{0: false, 0xfff: false, 0x1000: true, 0x103f: true, 0x1040: false, 1 << 40: false} {
		if got := table.find(offset) != nil; got != covered {
			t.Errorf("offset %#x is covered: %v, want %v", offset, got, covered)
		}
	}
}

func TestSignalFramesAreMarked(t *testing.T) {
	table := compileFrames(t, frameBytes("zRS", []byte{udata4}, entryRules, nil, 64))
	if set := table.find(0x1000); set == nil || set.flags&flagSignal == 0 {
		t.Errorf("the rule is %+v", set)
	}
}

func TestRowsAfterAMalformedInstructionAreUnknown(t *testing.T) {
	for name, program := range map[string][]byte{
		"unknown instruction":       {cfaAdvanceLoc | 4, 0x3c},
		"truncated operand":         {cfaAdvanceLoc | 4, cfaDefCFAOffset},
		"restore without remember":  {cfaAdvanceLoc | 4, cfaRestoreState},
		"remembering without end":   append([]byte{cfaAdvanceLoc | 4}, repeat(cfaRemember, maxRemembered+1)...),
		"offset of no CFA register": {cfaAdvanceLoc | 4, cfaDefCFAExpr, 1, 0x77, cfaDefCFAOffset, 8},
	} {
		t.Run(name, func(t *testing.T) {
			table := compileFrames(t, frameBytes("zR", []byte{udata4}, entryRules, nil, 64))
			changeProgram(t, table, program)
			if table.find(0x1003) == nil {
				t.Error("no rule before the instruction")
			}
			if set := table.find(0x1004); set != nil {
				t.Errorf("the rule after it is %+v", set)
			}
		})
	}
}

func TestRowsAfterARelativeSetLocAreUnknown(t *testing.T) {
	table := compileFrames(t, frameBytes("zR", []byte{0x10 | udata4}, entryRules, nil, 64))
	f, ok := table.eh.At(0)
	if !ok {
		t.Fatalf("function %+v, %v", f, ok)
	}
	f.Start, f.End = 0x1000, 0x1040
	program := []byte{cfaAdvanceLoc | 4, cfaSetLoc, 0x10, 0x10, 0, 0, cfaDefCFAOffset, 16}
	table.units = []unit{{0x1000, 0x1040, table.compile(&function{start: 0x1000, end: 0x1040,
		frame: callframe.Function{Start: 0x1000, End: 0x1040, CIE: f.CIE, Program: program}})}}
	for offset, known := range map[uint64]bool{0x1003: true, 0x1004: false, 0x1020: false} {
		if set := table.find(offset); (set != nil) != known {
			t.Errorf("the rule at %#x is %+v", offset, set)
		}
	}
}

// changeProgram puts a program in the place of the only function's, without the
// padding of its record.
func changeProgram(t *testing.T, table *Table, program []byte) {
	t.Helper()
	f, ok := table.function(0x1000)
	if !ok {
		t.Fatal("no function")
	}
	f.frame.Program = program
	table.units = []unit{{f.start, f.end, table.compile(&f)}}
}

func repeat(b byte, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = b
	}
	return s
}

func TestRecordsThatAreNotUnderstoodAreLeftOut(t *testing.T) {
	good := frameBytes("zR", []byte{udata4}, entryRules, nil, 64)
	for name, damage := range map[string]func([]byte){
		"unknown version":                  func(b []byte) { b[8] = 9 },
		"augmentation without a size":      func(b []byte) { b[9] = 'q' },
		"pointer encoding that is unknown": func(b []byte) { b[16] = 0x0f },
		"FDE that points at no CIE":        func(b []byte) { b[28] = 8 },
	} {
		t.Run(name, func(t *testing.T) {
			data := append([]byte(nil), good...)
			damage(data)
			if table := compileFrames(t, data); table != nil {
				t.Errorf("a table of %d functions", table.eh.Len())
			}
		})
	}
}

func TestABrokenChainOfRecordsKeepsWhatCameBefore(t *testing.T) {
	data := frameBytes("zR", []byte{udata4}, entryRules, nil, 64)
	data = binary.LittleEndian.AppendUint32(data[:len(data)-4], 0x7fff)
	table := compileFrames(t, data)
	if table == nil || table.eh.Len() != 1 || table.find(0x1000) == nil {
		t.Errorf("the function before is lost: %+v", table)
	}
}
