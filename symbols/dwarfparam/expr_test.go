package dwarfparam

import (
	"debug/elf"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

func TestExpressionsAreEvaluatedAtTheEntry(t *testing.T) {
	callFrame := []byte{opCallFrameCFA}
	for _, tt := range []struct {
		name       string
		machine    elf.Machine
		frame      []byte
		everywhere bool
		expr       []byte
		want       []piece
		reference  bool
	}{
		{"a register", elf.EM_X86_64, callFrame, false, []byte{opReg0 + 5}, []piece{{0, 16, Location{Where: Register, Register: 5}}}, false},
		{"a register by number", elf.EM_X86_64, nil, false, []byte{opRegx, 9}, []piece{{0, 16, Location{Where: Register, Register: 9}}}, false},
		{"a register of floating-point numbers", elf.EM_X86_64, nil, false, []byte{opReg0 + 17}, nil, false},
		{"register 17 of arm64", elf.EM_AARCH64, nil, false, []byte{opReg0 + 17}, []piece{{0, 16, Location{Where: Register, Register: 17}}}, false},
		{"two registers", elf.EM_X86_64, nil, false, []byte{opReg0 + 5, opPiece, 8, opReg0 + 4, opPiece, 8},
			[]piece{{0, 8, Location{Where: Register, Register: 5}}, {8, 8, Location{Where: Register, Register: 4}}}, false},
		{"a piece that is gone", elf.EM_X86_64, nil, false, []byte{opPiece, 8, opReg0 + 4, opPiece, 8},
			[]piece{{0, 8, Location{Why: whyRemoved}}, {8, 8, Location{Where: Register, Register: 4}}}, false},
		{"an argument on the stack", elf.EM_X86_64, callFrame, true, []byte{opFbreg, 16}, []piece{{0, 16, Location{Where: Stack, Offset: 16}}}, false},
		{"a slot that the function saves it to", elf.EM_X86_64, callFrame, true, []byte{opFbreg, 0x6c}, nil, false},
		{"a frame base that is not set yet", elf.EM_X86_64, []byte{opReg0 + 6}, true, []byte{opFbreg, 16}, nil, false},
		{"above the return address", elf.EM_X86_64, nil, false, []byte{opBreg0 + 7, 8}, []piece{{0, 16, Location{Where: Stack}}}, false},
		{"the stack pointer of arm64", elf.EM_AARCH64, nil, false, []byte{opBreg31, 8}, []piece{{0, 16, Location{Where: Stack, Offset: 8}}}, false},
		{"the stack pointer where it has moved", elf.EM_X86_64, nil, true, []byte{opBreg0 + 7, 8}, nil, false},
		{"behind a register", elf.EM_X86_64, nil, false, []byte{opBreg0 + 5, 8}, []piece{{0, 16, Location{Where: Memory, Register: 5, Offset: 8}}}, false},
		{"the value of a register", elf.EM_X86_64, nil, false, []byte{opBreg0 + 5, 0, opStackValue}, []piece{{0, 16, Location{Where: Register, Register: 5}}}, false},
		{"the value that a register had at the entry", elf.EM_X86_64, nil, true, []byte{opEntryValue, 1, opReg0 + 5, opStackValue}, []piece{{0, 16, Location{Where: Register, Register: 5}}}, false},
		{"one of GNU's", elf.EM_X86_64, nil, true, []byte{opGNUEntryValue, 1, opReg0 + 4, opStackValue}, []piece{{0, 16, Location{Where: Register, Register: 4}}}, false},
		{"a sum", elf.EM_X86_64, callFrame, true, []byte{opCallFrameCFA, opConsts, 8, opPlus}, []piece{{0, 16, Location{Where: Stack, Offset: 8}}}, false},
		{"a sum with a constant", elf.EM_X86_64, callFrame, true, []byte{opCallFrameCFA, opPlusUconst, 8}, []piece{{0, 16, Location{Where: Stack, Offset: 8}}}, false},
		{"a constant", elf.EM_X86_64, nil, false, []byte{opLit0 + 3, opStackValue}, nil, false},
		{"a constant in place", elf.EM_X86_64, nil, false, []byte{opImplicit, 2, 1, 2}, nil, false},
		{"a saved address", elf.EM_X86_64, callFrame, true, []byte{opFbreg, 0x68, opDeref}, nil, true},
		{"an operation that is not known", elf.EM_X86_64, nil, false, []byte{0x05}, nil, false},
		{"an end within an operation", elf.EM_X86_64, nil, false, []byte{opFbreg}, nil, false},
		{"a sum of nothing", elf.EM_X86_64, nil, false, []byte{opPlus}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := machine{
				reader: &reader{Options: Options{Machine: tt.machine}, frame: tt.frame}, everywhere: tt.everywhere, Cursor: bytecursor.New(tt.expr, 0, binary.LittleEndian),
			}
			d := m.run(&typ{size: 16})
			if !reflect.DeepEqual(d.pieces, tt.want) || d.byReference != tt.reference {
				t.Errorf("%+v, want %+v", d, tt.want)
			}
			if len(d.pieces) == 0 && d.why == "" {
				t.Error("neither a place nor why there is none")
			}
		})
	}
}

func FuzzExpression(f *testing.F) {
	f.Add([]byte{opReg0 + 5, opPiece, 8, opBreg0 + 4, 0x7f, opStackValue, opPiece, 8})
	f.Add([]byte{opEntryValue, 1, opReg0 + 5, opStackValue})
	f.Add([]byte{opCallFrameCFA, opConsts, 0x70, opPlus, opDeref})
	f.Fuzz(func(t *testing.T, expr []byte) {
		for _, everywhere := range []bool{false, true} {
			m := machine{reader: &reader{frame: []byte{opCallFrameCFA}}, everywhere: everywhere, Cursor: bytecursor.New(expr, 0, binary.LittleEndian)}
			d := m.run(&typ{size: 16})
			if len(d.pieces) > maxParts || len(d.pieces) == 0 && d.why == "" {
				t.Fatalf("%+v", d)
			}
			for _, p := range d.pieces {
				if p.loc.Where != Nowhere && (p.loc.Register < 0 || p.loc.Register > 31) || p.loc.Where == Nowhere && p.loc.Why == "" {
					t.Fatalf("%+v", p)
				}
			}
		}
	})
}
