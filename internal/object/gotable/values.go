package gotable

// maxSteps bounds the pairs read from one pc-value table.
const maxSteps = 1 << 18

// Values walks a pc-value table (cmd/link/internal/ld/pcln.go and runtime.step). The table has
// pairs of varints: the change of the value in zigzag form, and the change of the address in
// quanta. A zero ends it. After Next has returned true, Value holds for addresses in [Start,
// End).
type Values struct {
	Start, End uint64
	Value      int32
	Malformed  bool // the table does not end properly; set by Next

	table   part
	at      uint64 // offset of b in table
	b       []byte // bytes read ahead
	quantum uint64
	steps   int
}

// Values starts to walk the pc-value table at an offset from a Func. start is the function's
// address. Offset 0 means that there is no table; it gives a malformed one.
func (t *Table) Values(offset uint32, start uint64) Values {
	v := Values{Start: start, End: start, Value: -1, quantum: t.quantum}
	if offset != 0 {
		v.table = t.values.from(uint64(offset))
	}
	return v
}

// Next moves to the next value. It returns false at the end.
func (v *Values) Next() bool {
	change, ok := v.varint()
	if ok && change == 0 && v.steps > 0 {
		return false
	}
	length, more := v.varint()
	if v.steps++; !ok || !more || v.steps > maxSteps {
		v.Malformed = true
		return false
	}
	v.Value += int32(change>>1) ^ -int32(change&1)
	v.Start, v.End = v.End, v.End+uint64(length)*v.quantum
	return true
}

// valuesAhead is how many bytes of a pc-value table are read at once.
const valuesAhead = 64

func (v *Values) varint() (n uint32, ok bool) {
	if len(v.b) < 5 && v.table.data != nil {
		v.b = v.table.upTo(v.at, valuesAhead)
	}
	for i := 0; i < len(v.b) && i < 5; i++ {
		n |= uint32(v.b[i]&0x7f) << (7 * i)
		if v.b[i] < 0x80 {
			v.b, v.at = v.b[i+1:], v.at+uint64(i+1)
			return n, true
		}
	}
	return 0, false
}

// Value returns the value for an address in a pc-value table, or -1 if there is none.
func (t *Table) Value(offset uint32, start, addr uint64) int32 {
	for v := t.Values(offset, start); v.Next(); {
		if addr < v.End {
			return v.Value
		}
	}
	return -1
}
