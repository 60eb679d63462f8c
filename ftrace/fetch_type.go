package ftrace

import (
	"slices"
	"strings"
)

// fetchTypes are the types that all probes may use.
var fetchTypes = []string{
	"string", "ustring", "char",
	"u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "x8", "x16", "x32", "x64",
}

// typ parses the type, which may be empty, and checks whether the fetched value can have it.
func (p *fetchParser) typ(start, end int) error {
	name, nameEnd, array := p.text[start:end], end, false
	if open := strings.IndexByte(name, '['); open >= 0 {
		if err := p.array(start+open+1, end); err != nil {
			return err
		}
		name, nameEnd, array = name[:open], start+open, true
	}
	isText := name == "string" || name == "ustring"
	bits := strings.HasPrefix(name, "b")
	switch {
	case p.last == fetchText && (array || name != "string" && name != ""):
		return p.fail(start, "A text is of type string")
	case name == "" && !array:
	case p.kernel && name == "symstr":
		return p.symstr(start, array)
	case !p.kernel && (name == "symbol" || name == "symstr"):
		return p.fail(start, "The type %s is for kernel probes: it names functions of the kernel", name)
	case bits:
		if err := p.bitfield(start, nameEnd); err != nil {
			return err
		}
	case !slices.Contains(p.types(), name):
		return p.fail(start, "There is no type %q, but %s, bWIDTH@OFFSET/SIZE and arrays of them", name, strings.Join(p.types(), ", "))
	case isText && p.last == fetchValue:
		return p.fail(start, "A %s is read from an address: put +0(…) around the value", name)
	case !isText && array && p.last != fetchDeref:
		return p.fail(start, "An array is read from an address: put +0(…) around the value")
	}
	if bits && array && p.last != fetchDeref {
		return p.fail(start, "An array is read from an address: put +0(…) around the value")
	}
	return p.finish(start, isText || p.last == fetchText, bits, array)
}

// finish counts the steps that store the value, like finalize_fetch_insn in
// kernel/trace/trace_probe.c.
func (p *fetchParser) finish(start int, isText, bits, array bool) error {
	inPlace := p.last == fetchDeref || p.last == fetchUserDeref
	if isText && array {
		inPlace = false
	}
	if !inPlace {
		p.steps++
	}
	if bits {
		p.steps++
	}
	if array {
		p.steps++
	}
	if p.steps >= maxFetchSteps {
		return p.fail(start, "This is nested too deeply")
	}
	return nil
}

// array parses the length after [.
func (p *fetchParser) array(start, end int) error {
	shut := strings.IndexByte(p.text[start:end], ']')
	if shut < 0 {
		return p.fail(end, "The bracket is not closed")
	}
	shut += start
	if shut+1 != end {
		return p.fail(shut+1, "There is something behind the closing bracket")
	}
	length, ok := kernelUint(p.text[start:shut], 0)
	if !ok || length == 0 || length > maxFetchArray {
		return p.fail(start, "An array has 1 to %d elements", maxFetchArray)
	}
	return nil
}

// bitfield parses bWIDTH@OFFSET/CONTAINER, all in bits.
func (p *fetchParser) bitfield(start, end int) error {
	field := p.text[start+1 : end]
	width, rest := scanUint(field)
	offset, at := uint64(0), strings.HasPrefix(rest, "@")
	ok := at && width > 0
	if ok {
		before := rest[1:]
		offset, rest = scanUint(before)
		ok = rest != before && strings.HasPrefix(rest, "/")
	}
	if !ok {
		return p.fail(start, "A bitfield is bWIDTH@OFFSET/SIZE, in bits")
	}
	size, ok := kernelUint(rest[1:], 0)
	if !ok || size != 8 && size != 16 && size != 32 && size != 64 {
		return p.fail(end-len(rest)+1, "A bitfield lies in 8, 16, 32 or 64 bits")
	}
	if width > size || offset > size || width+offset > size {
		return p.fail(start, "A bitfield of %d bits at %d does not fit in %d", width, offset, size)
	}
	return nil
}
