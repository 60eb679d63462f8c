package output

import (
	"bufio"
	"path"
	"strconv"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// firefoxTables are the tables that all threads share. A frame is a function: the Profiler adds up
// functions, and does not show addresses. Functions and frames have the same indexes.
type firefoxTables struct {
	p       *profile.Profile
	leveler *leveler
	rows    []int32 // by row of the profile: its stack, or -1

	strings []string
	texts   map[string]int // index into strings

	frames  []int32         // by frame: its level
	ofLevel map[int32]int32 // the reverse
	sources []int32         // by frame: index into files, or -1
	lines   []int           // by frame: where the function is declared; 0 if unknown
	files   []int           // source files: their strings

	stacks  []firefoxStack
	ofStack map[firefoxStack]int32 // index into stacks

	objects  []int         // resources and libraries: indexes into profile.Objects
	ofObject map[int]int32 // the reverse
}

// firefoxStack is a node of the tree of all stacks.
type firefoxStack struct {
	prefix int32 // the caller's stack; -1 for a root
	frame  int32
}

func newFirefoxTables(p *profile.Profile, inlines bool) *firefoxTables {
	t := &firefoxTables{p: p, leveler: newLeveler(p, inlines), texts: make(map[string]int),
		ofLevel: make(map[int32]int32), ofStack: make(map[firefoxStack]int32), ofObject: make(map[int]int32)}
	var levels []int32
	for i := range p.Rows {
		levels = t.leveler.indexes(levels[:0], &p.Rows[i])
		stack := int32(-1)
		for _, level := range levels[1:] { // without the process
			stack = t.enter(firefoxStack{stack, t.frame(level)})
		}
		t.rows = append(t.rows, stack)
	}
	t.findSources()
	return t
}

// stack returns the stack of a row, or -1 if it has none.
func (t *firefoxTables) stack(row int32) int32 {
	if row < 0 || int(row) >= len(t.rows) {
		return -1
	}
	return t.rows[row]
}

// enter returns the index of a stack. Callers come before the functions that they call.
func (t *firefoxTables) enter(s firefoxStack) int32 {
	i, ok := t.ofStack[s]
	if !ok {
		i = int32(len(t.stacks))
		t.ofStack[s], t.stacks = i, append(t.stacks, s)
	}
	return i
}

// frame returns the index of the frame of a level.
func (t *firefoxTables) frame(of int32) int32 {
	i, ok := t.ofLevel[of]
	if !ok {
		i = int32(len(t.frames))
		t.ofLevel[of], t.frames = i, append(t.frames, of)
		t.sources, t.lines = append(t.sources, -1), append(t.lines, 0)
		l := &t.leveler.all[of]
		t.text(l.name)
		if l.object >= 0 {
			t.resource(l.object)
		}
	}
	return i
}

// text returns the index of a string, which is escaped.
func (t *firefoxTables) text(s string) int {
	s = escape.Text(s)
	i, ok := t.texts[s]
	if !ok {
		i = len(t.strings)
		t.texts[s], t.strings = i, append(t.strings, s)
	}
	return i
}

// resource returns the index of an object among the resources, which are also the libraries.
func (t *firefoxTables) resource(object int) int32 {
	i, ok := t.ofObject[object]
	if !ok {
		i = int32(len(t.objects))
		t.ofObject[object], t.objects = i, append(t.objects, object)
		t.text(objectName(&t.p.Objects[object]))
	}
	return i
}

// findSources finds the source files of the functions, if the profile has lines.
func (t *firefoxTables) findSources() {
	indexes := make(map[int]int32)
	for i, levels := range t.leveler.frames {
		lines := t.p.Frames[i].Lines
		for n, level := range levels {
			frame, ok := t.ofLevel[level]
			line := len(lines) - 1 - n // the innermost is first
			if !ok || line < 0 || lines[line].File == "" || t.sources[frame] >= 0 {
				continue
			}
			text := t.text(lines[line].File)
			source, ok := indexes[text]
			if !ok {
				source = int32(len(t.files))
				indexes[text], t.files = source, append(t.files, text)
			}
			t.sources[frame], t.lines[frame] = source, lines[line].Start
		}
	}
}

// firefoxLib describes an object. No addresses are written, so that nothing is looked up by it.
type firefoxLib struct {
	Arch       string `json:"arch"`
	Name       string `json:"name"`
	Path       string `json:"path"`
	DebugName  string `json:"debugName"`
	DebugPath  string `json:"debugPath"`
	BreakpadID string `json:"breakpadId"`
	CodeID     string `json:"codeId"` // the build id
}

func (t *firefoxTables) libs() []firefoxLib {
	all := make([]firefoxLib, 0, len(t.objects))
	for _, i := range t.objects {
		o := &t.p.Objects[i]
		name, file := escape.Text(path.Base(o.Path)), escape.Text(o.Path)
		all = append(all, firefoxLib{Name: name, Path: file, DebugName: name, DebugPath: file, CodeID: escape.Text(o.BuildID)})
	}
	return all
}

// category returns the category of a frame.
func (t *firefoxTables) category(frame int) int64 {
	switch object := t.level(frame).object; {
	case object < 0:
		return categoryOther
	case t.p.Objects[object].Kernel:
		return categoryKernel
	}
	return categoryUser
}

func (t *firefoxTables) level(frame int) *level { return &t.leveler.all[t.frames[frame]] }

// write writes the tables.
func (t *firefoxTables) write(out *bufio.Writer) {
	out.WriteString(`{"stackTable":`)
	writeColumns(out, len(t.stacks), "",
		column{"frame", func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(t.stacks[i].frame), 10) }},
		column{"prefix", func(dst []byte, i int) []byte { return appendOrNull(dst, t.stacks[i].prefix) }})
	index := func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(i), 10) }
	out.WriteString(`,"frameTable":`)
	writeColumns(out, len(t.frames), "",
		column{"address", always("-1")},
		column{"inlineDepth", always("0")},
		column{"category", func(dst []byte, i int) []byte { return strconv.AppendInt(dst, t.category(i), 10) }},
		column{"subcategory", always("0")},
		column{"func", index},
		column{"nativeSymbol", always("null")},
		column{"innerWindowID", always("null")},
		column{"line", always("null")},
		column{"column", always("null")})
	out.WriteString(`,"funcTable":`)
	writeColumns(out, len(t.frames), "",
		column{"name", func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(t.text(t.level(i).name)), 10) }},
		column{"isJS", always("false")},
		column{"relevantForJS", always("false")},
		column{"resource", func(dst []byte, i int) []byte {
			if object := t.level(i).object; object >= 0 {
				return strconv.AppendInt(dst, int64(t.resource(object)), 10)
			}
			return append(dst, "-1"...)
		}},
		column{"source", func(dst []byte, i int) []byte { return appendOrNull(dst, t.sources[i]) }},
		column{"lineNumber", func(dst []byte, i int) []byte {
			if t.lines[i] > 0 {
				return strconv.AppendInt(dst, int64(t.lines[i]), 10)
			}
			return append(dst, "null"...)
		}},
		column{"columnNumber", always("null")})
	out.WriteString(`,"resourceTable":`)
	writeColumns(out, len(t.objects), "",
		column{"lib", index},
		column{"name", func(dst []byte, i int) []byte {
			return strconv.AppendInt(dst, int64(t.text(objectName(&t.p.Objects[t.objects[i]]))), 10)
		}},
		column{"host", always("null")},
		column{"type", always("1")}) // a library
	out.WriteString(`,"nativeSymbols":`)
	writeColumns(out, 0, "", column{"libIndex", nil}, column{"address", nil}, column{"name", nil}, column{"functionSize", nil})
	out.WriteString(`,"sources":`)
	writeColumns(out, len(t.files), "",
		column{"id", always("null")},
		column{"filename", func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(t.files[i]), 10) }})
	out.WriteString(`,"stringArray":[`)
	for i, s := range t.strings {
		separate(out, i)
		out.WriteString(quoted(s))
	}
	out.WriteString(`]}`)
}

// column is a column of a table. value appends the JSON of one entry; it is called in their order.
type column struct {
	name  string
	value func(dst []byte, i int) []byte
}

// writeColumns writes a table of n entries as the Profiler has them: an object with an array for each
// column, and its length. first is JSON that comes before the columns.
func writeColumns(out *bufio.Writer, n int, first string, columns ...column) {
	out.WriteString("{" + first)
	for _, c := range columns {
		out.WriteString(`"` + c.name + `":[`)
		for i := range n {
			separate(out, i)
			out.Write(c.value(out.AvailableBuffer(), i))
		}
		out.WriteString("],")
	}
	out.WriteString(`"length":` + strconv.Itoa(n) + "}")
}

// always returns the values of a column in which all are the same.
func always(text string) func([]byte, int) []byte {
	return func(dst []byte, _ int) []byte { return append(dst, text...) }
}

// appendOrNull appends an index, or null for -1.
func appendOrNull(dst []byte, index int32) []byte {
	if index < 0 {
		return append(dst, "null"...)
	}
	return strconv.AppendInt(dst, int64(index), 10)
}
