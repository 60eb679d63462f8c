package dwarfparam

import (
	"debug/dwarf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Frame returns the canonical frame address at an instruction: the content of a register (its
// DWARF number) plus offset bytes.
type Frame func(vaddr uint64) (register int, offset int64, err error)

// variable is a variable that is visible at an instruction.
type variable struct {
	name string
	typ  dwarfline.DIE
	at   Value // only the location is set
	why  string
}

// UnknownError says that no variable of that name is visible at an instruction.
type UnknownError struct {
	Name  string
	Known []string // visible names, innermost first
}

func (e *UnknownError) Error() string { return "there is no variable " + e.Name }

// scope is where names are looked up.
type scope struct {
	vaddr uint64
	frame Frame
	r     *reader
	outer dwarfline.DIE
}

// lookup finds the variable called name.
func (s *scope) lookup(inner dwarfline.DIE, name string) (variable, error) {
	unknown := &UnknownError{Name: name}
	found, ok := s.search(inner, name, unknown, 0)
	if !ok { // search the whole unit
		found, ok = s.search(inner.Unit(), name, &UnknownError{}, 0)
	}
	if !ok {
		return variable{}, unknown
	}
	return s.describe(found), nil
}

// search searches a function or block, the innermost block first.
func (s *scope) search(in dwarfline.DIE, name string, unknown *UnknownError, depth int) (found dwarfline.DIE, ok bool) {
	var here dwarfline.DIE
	var isHere bool
	in.Children(func(e dwarfline.DIE) bool {
		switch e.Tag {
		case dwarf.TagLexDwarfBlock, dwarf.TagTryDwarfBlock, dwarf.TagCatchDwarfBlock:
			if depth < maxTypeDepth && e.Contains(s.vaddr) {
				found, ok = s.search(e, name, unknown, depth+1)
			}
		case dwarf.TagVariable, dwarf.TagFormalParameter:
			if e.Has(dwarf.AttrDeclaration) && !e.Has(dwarf.AttrLocation) {
				return true
			}
			switch called := nameOf(e); {
			case called == name && !isHere:
				here, isHere = e, true
			case called != "" && len(unknown.Known) < maxParams:
				unknown.Known = append(unknown.Known, called)
			}
		}
		return !ok
	})
	if ok {
		return found, true
	}
	return here, isHere
}

// nameOf returns the name of a variable. In a copy of a function, it is in the declaration.
func nameOf(e dwarfline.DIE) string {
	for range 4 {
		if name := e.Text(dwarf.AttrName); name != "" {
			return name
		}
		origin, ok := e.Ref(dwarf.AttrAbstractOrigin)
		if !ok {
			if origin, ok = e.Ref(dwarf.AttrSpecification); !ok {
				break
			}
		}
		e = origin
	}
	return ""
}

// typeOf returns the type of a variable, which may be in its declaration.
func typeOf(e dwarfline.DIE) dwarfline.DIE {
	for range 4 {
		if t, ok := e.Ref(dwarf.AttrType); ok {
			return t
		}
		origin, ok := e.Ref(dwarf.AttrAbstractOrigin)
		if !ok {
			if origin, ok = e.Ref(dwarf.AttrSpecification); !ok {
				break
			}
		}
		e = origin
	}
	return dwarfline.DIE{}
}

// describe finds the location of a variable at the instruction.
func (s *scope) describe(e dwarfline.DIE) variable {
	v := variable{name: nameOf(e), typ: typeOf(e)}
	if number, ok := e.Uint(dwarf.AttrConstValue); ok {
		v.at = Value{Constant: true, Number: int64(number)}
		return v
	}
	expr, _, err := e.Location(dwarf.AttrLocation, s.vaddr)
	switch {
	case err != nil:
		v.why = err.Error()
	case len(expr) == 0 && !e.Has(dwarf.AttrLocation):
		v.why = "the compiler optimized it out"
	case len(expr) == 0:
		v.why = "it is optimized out at this instruction: the compiler keeps it nowhere"
	default:
		if v.at, err = s.place(e, expr); err != nil {
			v.why = err.Error()
		}
	}
	return v
}

var (
	errComputed = errors.New("it is optimized out: debug information computes it, and the kernel can't")
	errPieces   = errors.New("it is in several places")
	errBefore   = errors.New("it is optimized out: only what it was when the function began is known")
)

// Operations that only variables use.
const (
	opAddr           = 0x03
	opConst1u        = 0x08
	opConst8s        = 0x0f
	opAddrx          = 0xa1
	opFormTLSAddress = 0x9b
	opGNUPushTLS     = 0xe0
	opGNUAddrIndex   = 0xfb
)

// place evaluates a variable's location expression.
func (s *scope) place(e dwarfline.DIE, expr []byte) (Value, error) {
	var v Value
	set := false
	c := bytecursor.New(expr, 0, binary.LittleEndian)
	for c.Left() > 0 && c.Err() == nil {
		op := c.U8()
		if set && op != opPlusUconst && op != opDeref && op != opStackValue && op != opPiece {
			return v, errComputed
		}
		first := !set
		set = true
		switch {
		case op >= opReg0 && op <= opReg31:
			v = Value{Register: int(op - opReg0)}
		case op == opRegx:
			v = Value{Register: int(min(c.ULEB(), 1<<16))}
		case op >= opBreg0 && op <= opBreg31:
			v = Value{Register: int(op - opBreg0), Offsets: []int64{c.SLEB()}}
		case op == opBregx:
			v = Value{Register: int(min(c.ULEB(), 1<<16))}
			v.Offsets = []int64{c.SLEB()}
		case op == opFbreg:
			var err error
			if v, err = s.frameBase(c.SLEB()); err != nil {
				return v, err
			}
		case op == opCallFrameCFA:
			register, offset, err := s.frame(s.vaddr)
			if err != nil {
				return v, err
			}
			v = Value{Register: register, Offsets: []int64{offset}}
		case op == opAddr:
			b := c.Bytes(8)
			if b == nil {
				return v, errComputed
			}
			v = s.fixed(binary.LittleEndian.Uint64(b))
		case op == opAddrx, op == opGNUAddrIndex:
			addr, ok := e.Address(c.ULEB())
			if !ok {
				return v, errComputed
			}
			v = s.fixed(addr)
		case op >= opLit0 && op <= opLit31:
			v = Value{Constant: true, Number: int64(op - opLit0)}
		case op >= opConst1u && op <= opConst8s:
			v = Value{Constant: true, Number: constant(&c, op)}
		case op == opConstu:
			v = Value{Constant: true, Number: int64(c.ULEB())}
		case op == opConsts:
			v = Value{Constant: true, Number: c.SLEB()}
		case op == opEntryValue, op == opGNUEntryValue:
			return v, errBefore
		case first && (op == opPlusUconst || op == opDeref || op == opStackValue || op == opPiece):
			return v, errComputed
		case op == opPlusUconst && len(v.Offsets) > 0:
			v.Offsets[len(v.Offsets)-1] += int64(c.ULEB())
		case op == opDeref && len(v.Offsets) > 0:
			v.Offsets = append(v.Offsets, 0)
		case op == opStackValue && v.Constant:
		case op == opStackValue && len(v.Offsets) == 1 && v.Offsets[0] == 0:
			v.Offsets = nil
		case op == opStackValue && len(v.Offsets) > 1 && v.Offsets[len(v.Offsets)-1] == 0:
			v.Offsets = v.Offsets[:len(v.Offsets)-1]
		case op == opPiece:
			return v, errPieces
		case op == opFormTLSAddress, op == opGNUPushTLS:
			return v, errors.New("it is thread-local, and the kernel can't fetch such")
		default:
			return v, errComputed
		}
	}
	if c.Err() != nil || !set || v.Constant && expr[len(expr)-1] != opStackValue {
		return v, errComputed
	}
	return v, nil
}

// fixed returns the place at a file address, relative to the instruction.
func (s *scope) fixed(addr uint64) Value {
	return Value{Register: InstructionPointer, Offsets: []int64{int64(addr - s.vaddr)}}
}

// frameBase returns the place at an offset from the frame base of the outer function.
func (s *scope) frameBase(offset int64) (Value, error) {
	base, _, err := s.outer.Location(dwarf.AttrFrameBase, s.vaddr)
	if err != nil || len(base) == 0 {
		return Value{}, fmt.Errorf("the function's frame is not described: %w", err)
	}
	c := bytecursor.New(base, 0, binary.LittleEndian)
	op := c.U8()
	var v Value
	switch {
	case op == opCallFrameCFA:
		register, distance, err := s.frame(s.vaddr)
		if err != nil {
			return v, err
		}
		v = Value{Register: register, Offsets: []int64{distance + offset}}
	case op >= opReg0 && op <= opReg31:
		v = Value{Register: int(op - opReg0), Offsets: []int64{offset}}
	case op >= opBreg0 && op <= opBreg31:
		v = Value{Register: int(op - opBreg0), Offsets: []int64{c.SLEB() + offset}}
	default:
		return v, errComputed
	}
	if c.Left() > 0 || c.Err() != nil {
		return v, errComputed
	}
	return v, nil
}

// constant reads the operand of DW_OP_const1u to DW_OP_const8s.
func constant(c *bytecursor.Cursor, op byte) int64 {
	size := 1 << ((op - opConst1u) / 2)
	b := c.Bytes(uint64(size))
	if b == nil {
		return 0
	}
	var whole [8]byte
	copy(whole[:], b)
	n := int64(binary.LittleEndian.Uint64(whole[:]))
	if (op-opConst1u)%2 == 1 {
		shift := 64 - 8*size
		n = n << shift >> shift
	}
	return n
}
