package plan

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
)

// A Walk is memory that the helper reads while the thread of a hit is stopped. It reads the bytes
// at an address in the record, then those at the addresses found there, and so on.
type Walk struct {
	Field string  // the field of the record with the first address
	Size  int     // bytes to read at each address
	Next  []int64 // offsets of further addresses in these bytes
	// Leaves are offsets of addresses of LeafSize other bytes, such as strings. The helper does not
	// look for addresses there.
	Leaves   []int64
	LeafSize int
}

// maxFetched is how many bytes the kernel can read at a hit for one value.
const maxFetched = 8 * maxElements

// hitAddress is an address that a clause computes from a value of the hit.
type hitAddress struct {
	source int
	steps  []check.Step
	near   bool // the address is an unknown distance after the end of the path, such as an array element's
}

// plus returns the address n bytes later.
func (h *hitAddress) plus(n int) *hitAddress {
	steps := (&pointer{steps: h.steps}).plus(n).steps
	return &hitAddress{h.source, steps, h.near}
}

// hitAddress returns how an address comes from a value of the hit, or nil if it does not.
func (a assigned) hitAddress(e check.Expr) *hitAddress {
	switch e := e.(type) {
	case *check.FromHit:
		if isAddress(e.T) {
			return &hitAddress{source: e.Source}
		}
	case *check.Local:
		if x := a[e.Var]; x != nil {
			return a.hitAddress(x)
		}
	case *check.Increment:
		return a.hitAddress(e.Target)
	case *check.Convert:
		if isAddress(e.T) && isAddress(e.X.Type()) {
			return a.hitAddress(e.X)
		}
	case *check.Binary:
		from := a.hitAddress(e.X)
		k, ok := e.Y.(*check.Const)
		switch {
		case from == nil || e.Op != "+" && e.Op != "-":
		case ok && e.Op == "+":
			return from.plus(int(k.N))
		case ok:
			return from.plus(-int(k.N))
		case e.Op == "+":
			return &hitAddress{from.source, from.steps, true}
		}
	case *check.Load:
		if from := a.hitAddress(e.Addr); from != nil && !from.near && isAddress(e.T) {
			from = from.plus(0)
			from.steps[len(from.steps)-1].Deref = true
			return from
		}
	}
	return nil
}

// atHit makes the events of a clause fetch memory at an address that the clause computes from its
// own hit. It returns false if they cannot. whole says that the kernel fetches everything that can
// be read. Otherwise the helper reads the rest.
func (p *planner) atHit(c *check.Clause, clause int, values assigned, r *memoryRead) (whole, ok bool) {
	at := values.hitAddress(r.addr)
	if at == nil || r.what.Form == check.Vector {
		return false, false
	}
	what := r.what
	if what.Form == check.Plain {
		what.Size = what.Type.Size
	}
	size := what.Size
	if what.Size = min(size, maxFetched); at.near {
		what.Size = maxFetched
	}
	what.Form = check.Bytes
	ok = true
	p.eachUse(clause, func(e *Event, u *Use) {
		s := c.Sources[at.source]
		p.point = u.Point
		if u.Fields[at.source].From != Record || s.Form != check.Plain || e.Place != User && e.Place != Kernel {
			ok = false
			return
		}
		piece, fits := p.fetched(e, s, at.steps, what, true)
		if !fits {
			ok = false
			return
		}
		if !slices.Contains(e.Here, piece) {
			e.Here = append(e.Here, piece)
		}
		if (size > maxFetched || at.near) && e.Place == User {
			e.walk(Walk{Field: piece.Base, Size: max(size, what.Size) + piece.Offset})
		}
	})
	return ok && size <= maxFetched && !at.near, ok
}

// walk adds memory that the helper reads.
func (e *Event) walk(w Walk) {
	for i := range e.Walks {
		if have := &e.Walks[i]; have.Field == w.Field && slices.Equal(have.Next, w.Next) && slices.Equal(have.Leaves, w.Leaves) {
			have.Size, have.LeafSize = max(have.Size, w.Size), max(have.LeafSize, w.LeafSize)
			return
		}
	}
	e.Walks = append(e.Walks, w)
}

// walk makes the helper follow the pointers that a loop follows, as in $n = $n->next. It returns
// false if the read r is not at such a pointer.
func (p *planner) walk(c *check.Clause, clause int, values assigned, r *memoryRead) bool {
	v, _ := values.variable(r.addr)
	if v == nil {
		v, _ = values.link(r.addr)
	}
	if v == nil || r.what.Form == check.Vector {
		return false
	}
	var roots []int // sources
	var next []int64
	for _, x := range given(c)[v] {
		if at := values.hitAddress(x); at != nil && len(at.steps) == 0 {
			roots = append(roots, at.source)
		} else if of, offset := values.link(x); of == v && !slices.Contains(next, offset) {
			next = append(next, offset)
		}
	}
	w := Walk{Next: next}
	for _, read := range memoryReads(c) {
		size := max(read.what.Size, read.what.Type.Size)
		if of, offset := values.variable(read.addr); of == v && offset >= 0 {
			w.Size = max(w.Size, int(offset)+size)
		}
		if of, offset := values.link(read.addr); of == v && !slices.Contains(next, offset) {
			if !slices.Contains(w.Leaves, offset) {
				w.Leaves = append(w.Leaves, offset)
			}
			w.LeafSize = max(w.LeafSize, size)
		}
	}
	if len(roots) == 0 || len(next) == 0 || w.Size == 0 {
		return false
	}
	slices.Sort(w.Next)
	slices.Sort(w.Leaves)
	found := false
	p.eachUse(clause, func(e *Event, u *Use) {
		for _, root := range roots {
			if u.Fields[root].From == Record && e.Place == User && c.Sources[root].Form == check.Plain {
				w.Field = u.Fields[root].Name
				e.walk(w)
				found = true
			}
		}
	})
	return found
}

// variable returns the variable from which an address is computed, and the offset from it. v is nil
// if there is none.
func (a assigned) variable(e check.Expr) (v *check.Var, offset int64) {
	switch e := e.(type) {
	case *check.Local:
		if x := a[e.Var]; x != nil {
			return a.variable(x)
		}
		return e.Var, 0
	case *check.Convert:
		if isAddress(e.T) && isAddress(e.X.Type()) {
			return a.variable(e.X)
		}
	case *check.Binary:
		if k, ok := e.Y.(*check.Const); ok && (e.Op == "+" || e.Op == "-") {
			v, offset = a.variable(e.X)
			if e.Op == "-" {
				return v, offset - int64(k.N)
			}
			return v, offset + int64(k.N)
		}
	}
	return nil, 0
}

// link returns the variable through which e loads an address. The address is at offset from the
// variable's value. v is nil if e does not load an address.
func (a assigned) link(e check.Expr) (v *check.Var, offset int64) {
	switch e := e.(type) {
	case *check.Local:
		if x := a[e.Var]; x != nil {
			return a.link(x)
		}
	case *check.Convert:
		return a.link(e.X)
	case *check.Load:
		if v, offset = a.variable(e.Addr); offset >= 0 && isAddress(e.T) {
			return v, offset
		}
	}
	return nil, 0
}
