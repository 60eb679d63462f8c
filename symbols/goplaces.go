package symbols

import (
	"github.com/ringtap/ringtap/internal/object/gotable"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// maxGoPlaces is the maximum number of places returned for a line.
const maxGoPlaces = 1 << 16

// places finds a source line in Go's table. The table does not mark statements, so it returns
// the first instruction of the line in each function and each inlined copy.
func (t *goLines) places(sourceFile string, line int) dwarfline.Statements {
	var s dwarfline.Statements
	meant := map[string]bool{} // by the recorded path: whether sourceFile means it
	for i := range t.Len {
		f := t.Func(i)
		if f.End <= f.Entry {
			continue
		}
		copies := map[goInlined]bool{}
		files := t.Values(f.File(), f.Entry)
		for files.Next() {
			path := string(f.Path(files.Value, maxSymbolName))
			is, known := meant[path]
			if !known && path != "" {
				if is = dwarfline.SamePath(path, sourceFile); is {
					s.Files = append(s.Files, path)
				}
				meant[path] = is
			}
			if is && len(s.Places) < maxGoPlaces {
				t.placesIn(&s, &f, path, files.Start, files.End, line, copies)
			}
		}
	}
	return s
}

// placesIn searches the code of f from start to end, all of which comes from the file path.
func (t *goLines) placesIn(s *dwarfline.Statements, f *gotable.Func, path string, start, end uint64, line int, copies map[goInlined]bool) {
	lines := t.Values(f.Line(), f.Entry)
	for lines.Next() {
		at := max(lines.Start, start)
		if at >= min(lines.End, end, f.End) {
			continue
		}
		if n := int(lines.Value); n > line && (s.Next == 0 || n < s.Next) {
			s.Next = n
		} else if n != line {
			continue
		} else if call, _ := t.inlined(f, at); !copies[call] {
			copies[call] = true
			name := call.name
			if call == (goInlined{}) {
				name = f.Name()
			}
			s.Places = append(s.Places, dwarfline.Place{
				Addr: at, Function: string(t.Name(name, maxSymbolName)), File: path, Line: line,
			})
		}
	}
}
