package hotspot

// text is the code of a blob as it was when a thread was seen in it first: instructions tell how
// much of a frame there is, also of the last samples of a process, when it has ended.
type text struct {
	compileID  uint32
	code, size uint64 // of the blob
	bytes      []byte
}

// maxText bounds the code of a process that is remembered, in bytes. The code of a large method
// is less than 64 KiB.
const maxText = 4 << 20

// textOf is a blob's code.
func (r *Runtime) textOf(b *blob) ([]byte, bool) {
	t, ok := r.texts[b.addr]
	if !ok || t.compileID != b.compileID || t.code != b.code || t.size != b.size {
		t = text{b.compileID, b.code, b.size, make([]byte, min(b.addr+b.size-b.code, maxText))}
		if !r.mem.Read(b.code, t.bytes) {
			return nil, false
		}
		if r.texted += len(t.bytes); r.texted > maxText {
			clear(r.texts)
			r.texted = len(t.bytes)
		}
		r.texts[b.addr] = t
	}
	return t.bytes, true
}

// piece is so many bytes of code from a place on; what is not there is zero.
func piece(code []byte, at, n int) []byte {
	code = code[min(at, len(code)):]
	if len(code) >= n {
		return code[:n]
	}
	return append(make([]byte, 0, n), code...)[:n]
}
