package perfdata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A table that another program wrote has fields that ringtap does not read.
func TestFieldsOfSymbolTablesThatAreNotKnownAreSkipped(t *testing.T) {
	body := appendBytes(nil, tagPath, []byte("/bin/x"))
	body = appendNumber(body, 3<<3|wireVarint, 0x1000) // min_vaddr
	body = append(body, 9<<3|wire32, 1, 2, 3, 4)       // of a later version
	body = append(body, 10<<3|wire64, 1, 2, 3, 4, 5, 6, 7, 8)
	symbol := appendBytes(appendNumber(appendNumber(nil, tagAddress, 0x400000), tagSize, 8), tagName, []byte("main"))
	body = appendBytes(body, tagSymbol, symbol)
	body = appendBytes(body, tagSymbol, []byte{tagName, 0}) // too short for a symbol
	body = appendBytes(body, 5<<3|wireBytes, []byte{1, 2})  // dex_file
	var f File
	if err := f.addSymbolTables(append([]byte{byte(len(body)), 0, 0, 0}, body...)); err != nil {
		t.Fatal(err)
	}
	want := []SymbolTable{{Path: "/bin/x", Symbols: []Symbol{{0x400000, 8, "main"}}}}
	if diff := cmp.Diff(want, f.Symbols); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSymbolTablesThatAreCutOffAreAnError(t *testing.T) {
	whole := symbolTables(writtenSections.Symbols)
	ends := map[int]bool{0: true}
	for at := 0; at < len(whole); at = at + 4 + int(whole[at]) {
		ends[at] = true
	}
	for n := range whole {
		var f File
		if err := f.addSymbolTables(whole[:n]); (err == nil) != ends[n] {
			t.Errorf("the first %d bytes of %d: %v", n, len(whole), err)
		}
	}
}

func FuzzSymbolTables(f *testing.F) {
	f.Add(symbolTables(writtenSections.Symbols))
	f.Add([]byte{2, 0, 0, 0, tagSymbol, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		var file File
		_ = file.addSymbolTables(b) // it must not panic
		size := 0
		for i := range file.Symbols {
			for _, s := range file.Symbols[i].Symbols {
				size += 40 + len(s.Name)
			}
		}
		if size > 5*len(b) {
			t.Errorf("%d bytes take %d of memory", len(b), size)
		}
	})
}
