package symbols

import "github.com/ringtap/ringtap/internal/gotable"

// addGoTable collects the functions of t.
func (b *builder) addGoTable(t *gotable.Table) error {
	source, err := b.source(t.Names)
	if err != nil {
		return err
	}
	for i := range t.Len {
		f := t.Func(i)
		if f.End <= f.Entry {
			continue
		}
		name := cbytes(t.Names, uint64(f.Name()), maxSymbolName)
		const rank = rankFunction | rankCurrent | rankExported | rankStrong
		if err := b.add(source, f.Name(), len(name), f.Entry, f.End-f.Entry, rank, Defined); err != nil {
			return err
		}
	}
	return nil
}
