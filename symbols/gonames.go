package symbols

import "github.com/ringtap/ringtap/internal/gotable"

// addGoTable collects the functions of t.
func (b *builder) addGoTable(t *gotable.Table) error {
	source, err := b.source(t.Names)
	if err != nil {
		return err
	}
	if b.want == nil {
		for i := range t.Len {
			if err := b.addGoFunction(t, source, i); err != nil {
				return err
			}
		}
		return nil
	}
	for _, addr := range b.want.points {
		if i, ok := t.Find(addr); ok {
			if err := b.addGoFunction(t, source, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *builder) addGoFunction(t *gotable.Table, source int, i uint64) error {
	f := t.Func(i)
	if f.End <= f.Entry {
		return nil
	}
	name := cbytes(t.Names, uint64(f.Name()), maxSymbolName)
	const rank = rankFunction | rankCurrent | rankExported | rankStrong
	return b.add(source, f.Name(), len(name), f.Entry, f.End-f.Entry, rank, Defined)
}
