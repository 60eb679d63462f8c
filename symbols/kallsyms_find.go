package symbols

import (
	"io"
	"slices"
)

// FindKallsyms is like ReadKallsyms for a caller that knows the addresses it will look up. It
// keeps only the functions at addrs and stops reading as soon as it can. For addrs, Lookup
// returns the same as with the whole table. It does not find other addresses, unless they are
// in the same functions.
func FindKallsyms(r io.Reader, addrs []uint64) (*Kallsyms, error) {
	f := kallsymsFinder{left: sorted(slices.Clone(addrs))}
	f.parser.start()
	if err := f.parser.each(r, f.add); err != nil {
		return nil, err
	}
	if err := f.pass(^uint64(0)); err != nil {
		return nil, err
	}
	if f.parser.hidden {
		return nil, ErrAddressesHidden
	}
	return f.parser.finish(), nil
}

// kallsymsFinder searches the sorted lines of the kernel proper for addresses. It keeps all
// lines after these if an address may belong to a module.
type kallsymsFinder struct {
	parser kallsymsParser
	left   []uint64 // addresses beyond the lines read so far
	last   uint64   // the last line's address
	group  []line   // the lines with that address
	names  []byte   // the names of the group
	first  bool     // the first line was read
	rest   bool     // keep all following lines
	wide   bool     // an address is far from the symbol before it, so a module may have it
}

// line is a line of the kernel proper: its type, and the end of its name in names.
type line struct {
	kind byte
	end  int
}

func (f *kallsymsFinder) add(s *KernelSymbol) error {
	p := &f.parser
	if s.Address != 0 {
		p.hidden = false
	}
	if f.rest {
		return p.add(s)
	}
	if len(s.Module) > 0 || s.Address < f.last {
		// The lines from here on are not sorted.
		f.rest = true
		if err := f.pass(^uint64(0)); err != nil {
			return err
		}
		return p.add(s)
	}
	if !f.first {
		f.first = true
		p.mark(s.Address)
	}
	if s.Address > f.last {
		if len(f.left) > 0 && f.left[0] < s.Address {
			if err := f.pass(s.Address); err != nil {
				return err
			}
			p.mark(s.Address)
		}
		f.last, f.group, f.names = s.Address, f.group[:0], f.names[:0]
		if len(f.left) == 0 && !f.wide {
			return io.EOF
		}
	}
	f.names = append(f.names, s.Name...)
	f.group = append(f.group, line{s.Type, len(f.names)})
	return nil
}

// pass keeps the group if one of the addresses is between it and next.
func (f *kallsymsFinder) pass(next uint64) error {
	if len(f.group) == 0 || len(f.left) == 0 {
		f.wide = f.wide || len(f.left) > 0
		return nil
	}
	wanted := false
	for len(f.left) > 0 && f.left[0] < next {
		wanted = wanted || f.left[0] >= f.last
		f.wide = f.wide || f.left[0] < f.last || f.left[0]-f.last > maxKernelFunction
		f.left = f.left[1:]
	}
	if !wanted {
		return nil
	}
	begin := 0
	for _, l := range f.group {
		s := KernelSymbol{Address: f.last, Type: l.kind, Name: f.names[begin:l.end]}
		if err := f.parser.add(&s); err != nil {
			return err
		}
		begin = l.end
	}
	f.group = f.group[:0]
	return nil
}
