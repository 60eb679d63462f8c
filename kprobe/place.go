package kprobe

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/host/kcore"
	"github.com/ringtap/ringtap/uprobe/placement"
)

// maxCode is the maximum size of a function whose instructions are read, in bytes.
const maxCode = 1 << 20

func (r *resolver) address() error {
	d := r.definition
	place := fmt.Sprintf("%#x", d.Address)
	table := r.lookup.table
	if table.hidden {
		return &PlaceError{Place: place, Err: ErrAddressesHidden}
	}
	var function *Function
	for i := range table.found {
		// If there are several names, use the first one that is a function of the source.
		f := &table.found[i].Function
		if function == nil || f.Address > function.Address || isHelper(function) {
			function = f
		}
	}
	if function == nil || isHelper(function) {
		return &PlaceError{Place: place, Err: errors.New("there is no function of the kernel")}
	}
	end := table.end(function.Address)
	offset := d.Address - function.Address
	if end == 0 && offset > maxCode || end != 0 && d.Address >= end {
		return &PlaceError{Place: place, Err: errors.New("there is no function of the kernel")}
	}
	if err := r.probeableAddress(function); err != nil {
		return err
	}
	if d.Kind == Return && offset > 0 {
		return &PlaceError{Place: place, Err: fmt.Errorf("a return probe is on a function's start, and this is %s+%#x", function, offset)}
	}
	if err := r.checkOffset(function, offset); err != nil {
		return err
	}
	return r.add(*function, offset, d.Address)
}

// probeableAddress checks whether the function around an address can be probed. Its name was
// not known when the lists were read.
func (r *resolver) probeableAddress(f *Function) error {
	list, err := r.lookup.kernel.traceable(func(name []byte) bool { return string(name) == f.Name || string(name) == baseName(f.Name) })
	if err != nil {
		r.options.Logger.Debug("the list of functions that can be traced can't be read", "error", err)
	}
	r.lookup.traced = list
	f.Traceable = list.has(f)
	one := []Function{*f}
	r.lookup.traceAliases(one)
	*f = one[0]
	return r.probeable(f)
}

// checkOffset returns an error if no instruction starts at an offset in a function. If the code
// cannot be read, only the kernel checks it.
func (r *resolver) checkOffset(f *Function, offset uint64) error {
	if offset == 0 || r.options.Force {
		return nil
	}
	place := fmt.Sprintf("%s+%#x", f, offset)
	end := r.lookup.table.end(f.Address)
	switch {
	case f.Address == 0:
		r.options.Logger.Debug("whether an instruction begins there is left to the kernel", "place", place, "error", ErrAddressesHidden)
		return nil
	case end != 0 && f.Address+offset >= end:
		return &PlaceError{Place: place, Err: fmt.Errorf("%s has %#x bytes", f, end-f.Address)}
	case r.arch == "arm64" && offset%4 != 0:
		return &PlaceError{Place: place, Err: errors.New("an instruction begins every four bytes")}
	case r.arch == "arm64":
		return nil
	}
	code, err := r.lookup.kernel.code(f.Address, min(end-f.Address, maxCode))
	if err == nil {
		err = boundary(code, offset)
	}
	if not := (*placement.NotBoundaryError)(nil); errors.As(err, &not) {
		return &PlaceError{Place: place, Err: not}
	}
	if err != nil {
		r.options.Logger.Debug("whether an instruction begins there is left to the kernel", "place", place, "error", err)
	}
	return nil
}

// breakpoint is int3, with which other probes replace an instruction's first byte.
const breakpoint = 0xcc

// boundary returns nil if an amd64 instruction starts at the offset. If there are already
// probes before it, nothing is known: they hide the original bytes.
func boundary(code []byte, offset uint64) error {
	f := &placement.Function{Machine: elf.EM_X86_64, Code: code}
	for at := range min(offset, uint64(len(code))) {
		if code[at] == breakpoint && f.Boundary(int(at)) == nil {
			return errors.New("there are breakpoints before it")
		}
	}
	return f.Boundary(int(offset))
}

func (k kernel) code(address, size uint64) ([]byte, error) {
	memory, err := kcore.Open(k.proc().Name("kcore"))
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	code := make([]byte, size)
	if _, err := memory.ReadAt(code, address); err != nil {
		return nil, err
	}
	return code, nil
}
