package dwarfparam

import (
	"debug/dwarf"
	"debug/elf"
	"errors"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// ErrNoFunction is wrapped by Read's error if no function in the debug information starts at
// the address.
var ErrNoFunction = errors.New("no debug information about a function that begins here")

// maxParams is the maximum number of parameters returned for one function.
const maxParams = 256

// Options has what Read cannot find in debug information.
type Options struct {
	Machine elf.Machine
	// Clone says that the code is an optimizer's copy for some callers (f.isra.0,
	// f.constprop.1), which has its own calling convention.
	Clone bool
	Types bool // also return whole types: Param.Of
}

// Read returns the parameters of the function whose first instruction is at the virtual address
// vaddr, in order. Implicit parameters such as "this" are included.
func Read(x *dwarfline.Index, vaddr uint64, opts Options) ([]Param, error) {
	e, ok, err := x.Subprogram(vaddr)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, ErrNoFunction
	}
	r := newReader(e, vaddr, opts)
	formals := r.formals()
	rules := r.conventionOf()
	placed := r.placeAll(rules, formals)
	params := make([]Param, len(formals))
	for i := range formals {
		params[i] = r.param(&formals[i], placed[i])
	}
	return params, nil
}

// reader reads the parameters of one function.
type reader struct {
	Options
	entry uint64
	fn    dwarfline.DIE
	lang  language
	frame []byte // expression of the frame base, if it is the same everywhere
	types map[uint64]*typ
	graph *typeGraph // nil unless Options.Types is set
}

func newReader(e dwarfline.DIE, vaddr uint64, opts Options) *reader {
	r := &reader{Options: opts, entry: vaddr, fn: e, lang: languageOf(e.Language()), types: map[uint64]*typ{}}
	if expr, everywhere, err := e.Location(dwarf.AttrFrameBase, vaddr); err == nil && (everywhere || len(expr) > 0) {
		r.frame = expr
	}
	const noCall = 3 // DW_CC_nocall: the optimizer changed the convention
	if cc, _ := e.Uint(dwarf.AttrCalling); cc == noCall {
		r.Clone = true
	}
	if opts.Types {
		r.graph = newGraph(r)
	}
	return r
}

// formal is a parameter in debug information.
type formal struct {
	declared dwarfline.DIE // with the name and the type
	concrete dwarfline.DIE // with the location; the zero DIE if there is none
	typ      *typ
}

// formals lists the parameters. If the function was also inlined elsewhere, its abstract
// instance declares them, and this copy may lack some.
func (r *reader) formals() []formal {
	var list []formal
	index := map[uint64]int{}
	if abstract, ok := r.fn.Ref(dwarf.AttrAbstractOrigin); ok {
		formalsOf(abstract, func(e dwarfline.DIE) {
			index[e.Offset] = len(list)
			list = append(list, formal{declared: e})
		})
	}
	formalsOf(r.fn, func(e dwarfline.DIE) {
		declared := e
		if origin, ok := e.Ref(dwarf.AttrAbstractOrigin); ok {
			declared = origin
		}
		if i, ok := index[declared.Offset]; ok {
			list[i].concrete = e
		} else {
			list = append(list, formal{declared: declared, concrete: e})
		}
	})
	list = list[:min(len(list), maxParams)]
	for i := range list {
		f := &list[i]
		e, ok := f.declared.Ref(dwarf.AttrType)
		if !ok {
			e, ok = f.concrete.Ref(dwarf.AttrType)
		}
		if f.typ = unknownType; ok {
			f.typ = r.resolve(e, 0)
		}
	}
	return list
}

// formalsOf calls add with each parameter in a function's entry. It skips results, which Go
// lists among them.
func formalsOf(fn dwarfline.DIE, add func(dwarfline.DIE)) {
	n := 0
	fn.Children(func(e dwarfline.DIE) bool {
		if e.Tag != dwarf.TagFormalParameter {
			return true
		}
		result, _ := e.Uint(dwarf.AttrVarParam)
		if origin, ok := e.Ref(dwarf.AttrAbstractOrigin); ok && result == 0 {
			result, _ = origin.Uint(dwarf.AttrVarParam)
		}
		if result == 0 {
			add(e)
		}
		n++
		return n < maxParams
	})
}

// result returns the function's result type, or nil if there is none.
func (r *reader) result() *typ {
	e := r.fn
	for range 4 { // the entry, its abstract instance, and a member's declaration
		if t, ok := e.Ref(dwarf.AttrType); ok {
			return r.resolve(t, 0)
		}
		next, ok := e.Ref(dwarf.AttrAbstractOrigin)
		if !ok {
			if next, ok = e.Ref(dwarf.AttrSpecification); !ok {
				return nil
			}
		}
		e = next
	}
	return nil
}

// param returns the Param for f, whose value is at where.
func (r *reader) param(f *formal, where placement) Param {
	p := Param{Name: f.declared.Text(dwarf.AttrName), Kind: f.typ.kind, Size: int(min(f.typ.size, 1<<30))}
	if p.Name == "" {
		p.Name = f.concrete.Text(dwarf.AttrName)
	}
	e, ok := f.declared.Ref(dwarf.AttrType)
	if !ok {
		e, ok = f.concrete.Ref(dwarf.AttrType)
	}
	if ok {
		p.Type = r.text(e)
	}
	if ok && r.Types {
		p.Of = r.graph.graph(e)
	}
	p.Location = where.whole(f.typ)
	p.Parts = r.parts(f.typ, where)
	return p
}
