package hotspot

// text is a blob's code as it was when first needed. It is kept because instructions tell the
// shape of frames also for a process's last samples, after it has ended.
type text struct {
	compileID  uint32
	code, size uint64 // the blob's
	bytes      []byte
}

// maxText bounds the cached code of a process, in bytes. A large method has less than 64 KiB.
const maxText = 4 << 20

// textOf returns a blob's code.
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

// piece returns n bytes of code from offset on, padded with zeros.
func piece(code []byte, offset, n int) []byte {
	code = code[min(offset, len(code)):]
	if len(code) >= n {
		return code[:n]
	}
	return append(make([]byte, 0, n), code...)[:n]
}
