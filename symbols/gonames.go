package symbols

import "github.com/ringtap/ringtap/internal/object/gotable"

// addGoTable collects the functions of Go's table.
func (b *builder) addGoTable(t *gotable.Table) error {
	var functions []uint64 // their indexes in the table
	if b.want == nil {
		for i := range t.Len {
			functions = append(functions, i)
		}
	} else {
		for _, addr := range b.want.points {
			if i, ok := t.Find(addr); ok {
				functions = append(functions, i)
			}
		}
	}
	var names []byte
	ends := make([]int, len(functions))
	for i, n := range functions {
		f := t.Func(n)
		if names = append(names, t.Name(f.Name(), maxSymbolName)...); len(names) > maxNames {
			return errTooMany
		}
		ends[i] = len(names)
	}
	source, err := b.source(names)
	if err != nil {
		return err
	}
	begin := 0
	for i, n := range functions {
		f := t.Func(n)
		const rank = rankFunction | rankCurrent | rankExported | rankStrong
		if f.Entry < f.End {
			if err := b.add(source, uint32(begin), ends[i]-begin, f.Entry, f.End-f.Entry, rank, Defined); err != nil {
				return err
			}
		}
		begin = ends[i]
	}
	return nil
}
