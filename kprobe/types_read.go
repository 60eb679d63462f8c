package kprobe

import "fmt"

// scalar returns the fetch expression for width bits. If they are not at the start of a word,
// typ is the bit field that they are.
func (v *value) scalar(width uint64) (fetch, typ string, err error) {
	switch v.kind {
	case inMemory:
		return deref(v.offset, v.text, v.user), "", nil
	case inWords:
		i, shift := v.offset/8, uint64(v.offset%8)*8
		if i < 0 || i >= int64(len(v.words)) || shift+width > 64 {
			return "", "", fmt.Errorf("%s lies across two words, and the kernel can't put it together", v.name)
		}
		if shift > 0 {
			typ = fmt.Sprintf("b%d@%d/64", width, shift)
		}
		return v.words[i], typ, nil
	}
	text, ok := v.load()
	if !ok {
		return "", "", fmt.Errorf("&%s is %d bytes behind an address, and the kernel can't add: give it a type that is read from there, such as string or x8[16]", v.name, v.offset)
	}
	return text, "", nil
}

// bits returns a bit field, fetched in the smallest integer that contains it. The kernel prints
// it as unsigned: see ftrace.FetchArg.Signed.
func (v *value) bits() (fetch, typ string, err error) {
	if v.kind == inWords {
		i, shift := v.offset/8, uint32(v.offset%8)*8+v.bit
		if i < 0 || i >= int64(len(v.words)) || shift+v.width > 64 {
			return "", "", fmt.Errorf("%s lies across two words, and the kernel can't put it together", v.name)
		}
		return v.words[i], fmt.Sprintf("b%d@%d/64", v.width, shift), nil
	}
	for _, size := range []uint32{8, 16, 32, 64} {
		if v.bit+v.width <= size {
			return deref(v.offset, v.text, v.user), fmt.Sprintf("b%d@%d/%d", v.width, v.bit, size), nil
		}
	}
	return "", "", fmt.Errorf("%s is a bitfield that lies across 9 bytes, and the kernel fetches 8", v.name)
}

// place returns the fetch expression for memory itself, as needed for text and arrays: the
// memory that a pointer points to, or the bytes of any other value.
func (v *value) place(wanted string) (string, error) {
	switch {
	case v.width > 0:
		return "", fmt.Errorf("%s is a bitfield, and %s is not", v.name, wanted)
	case v.kind == address, v.kind == inMemory && !v.typ.isPointer():
		return deref(v.offset, v.text, v.user), nil
	case !v.typ.isPointer():
		return "", fmt.Errorf("%s is %s and not in memory, where %s is read from", v.name, v.typ, wanted)
	}
	out, err := v.follow(0)
	if err != nil {
		return "", err
	}
	return deref(0, out.text, out.user), nil
}
