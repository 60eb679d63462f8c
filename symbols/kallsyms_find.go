package symbols

import (
	"io"
	"slices"
)

// FindKallsyms is ReadKallsyms for those who know what they look for: of the text it
// keeps the functions at the given addresses, and reads no more of it than it must.
// Lookup of the result finds these addresses as it does in the whole table. Others,
// unless they lie in the same functions, it does not find.
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

// kallsymsFinder looks for addresses in lines that are sorted, as those of the kernel
// proper are, and keeps all lines behind these if an address may be a module's.
type kallsymsFinder struct {
	parser kallsymsParser
	left   []uint64 // addresses that the lines have not come to
	last   uint64   // the last address
	group  []line   // the lines so far that have it
	names  []byte   // of the group
	first  bool     // a line was read
	rest   bool     // all that comes is kept
	wide   bool     // an address is far from the symbol before it
}

// line is a line of the kernel proper: its type, and where in names its name ends.
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
		// What comes is in no order.
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

// pass keeps the group, if an address lies behind it and before next.
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
