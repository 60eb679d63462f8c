package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// hostile is a text that forges a line and moves a terminal's cursor.
const hostile = "sh\n1 root\x1b[2J\xff\u202e"

const escaped = `sh\n1 root\x1b[2J\xff\u202e`

func TestNoProcessForgesALine(t *testing.T) {
	program := *text
	program.Program = true
	byteOf, byteOfProgram := &types.Type{Kind: types.Int, Size: 1}, &types.Type{Kind: types.Int, Size: 1, Program: true}
	for _, test := range []struct {
		name, format string
		of           *types.Type
		v            value.Value
		want, raw    string
	}{
		{"a text of the process", "%s\n", text, value.String(hostile), escaped + "\n", hostile + "\n"},
		{"the format is the program's", "a\n\t%s", text, value.String("b\n"), "a\n\tb\\n", "a\n\tb\n"},
		{"a line break at the end of the line", "%s\n", text, value.String("a\nb\n"), "a\\nb\n\n", "a\nb\n\n"},
		{"two of them", "%s\n", text, value.String("a\n\n"), "a\\n\n\n", "a\n\n\n"},
		{"one before other text", "%s %%\n", text, value.String("a\n"), "a\\n %\n", "a\n %\n"},
		{"one before the next conversion", "%s", tupleOf(text, text), value.Tuple(value.String("a\n"), value.String("b\n")), "(a\\n, b\\n)", "(a\n, b\n)"},
		{"a text of the program", "%s", &program, value.String("a\n\tb"), "a\n\tb", "a\n\tb"},
		{"a text in a tuple", "%s", tupleOf(text, &program), value.Tuple(value.String("a\nb"), value.String("c\n")), "(a\\nb, c\n)", "(a\nb, c\n)"},
		{"the width counts what is shown", "%6s|%-6s", nil, value.Value{}, `  a\nb|a\nb  `, "   a\nb|a\nb   "},
		{"a character of the process", "%c", byteOf, value.Int('\n'), `\n`, "\n"},
		{"a character of the program", "%c", byteOfProgram, value.Int('\n'), "\n", "\n"},
		{"a probe's name", "%s", &types.Type{Kind: types.ProbeName}, value.String("uprobe:/tmp/a\nb:f"), `uprobe:/tmp/a\nb:f`, "uprobe:/tmp/a\nb:f"},
		{"a time's format is the program's", "%s", &types.Type{Kind: types.Timestamp}, value.Value{S: "%H\n"}, "00\n", "00\n"},
	} {
		of, args := []*types.Type{test.of}, []value.Value{test.v}
		if test.of == nil {
			of, args = []*types.Type{text, text}, []value.Value{value.String("a\nb"), value.String("a\nb")}
		}
		f, err := ParseFormat("printf", test.format, of)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPrinter(nil, nil, Default(), fixedNames{})
		if got := p.Sprintf(f, args); got != test.want {
			t.Errorf("%s: it prints %q, want %q", test.name, got, test.want)
		}
		if got := p.SprintfRaw(f, args); got != test.raw {
			t.Errorf("%s: raw it is %q, want %q", test.name, got, test.raw)
		}
	}
}

func TestKeysAndWordsOfProcessesForgeNoLine(t *testing.T) {
	var out bytes.Buffer
	r := &run{Printer: NewPrinter(&out, &out, Default(), fixedNames{})}
	m := r.new("@", types.Int64, text)
	m.Set(r.key(m, value.String(hostile)), value.Int(1))
	r.Map(m, 0, 0)
	r.Join([]string{"ls", hostile}, " ", false)
	if want := "@[" + escaped + "]: 1\nls " + escaped + "\n"; r.Flush() != nil || out.String() != want {
		t.Errorf("it prints %q, want %q", &out, want)
	}
}

func TestJSONIsValidWhateverProcessesContain(t *testing.T) {
	var out bytes.Buffer
	r := &run{Printer: NewPrinter(&out, &out, Default(), fixedNames{})}
	r.JSON = true
	m := r.new("@", text, text)
	m.Set(r.key(m, value.String(hostile)), value.String("\x00\x7f\u009b\U000e0041é\"\\"))
	r.Map(m, 0, 0)
	r.Value(text, value.String(hostile))
	r.Join([]string{"\xc3", "é"}, " ", false)
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var message struct{ Data any }
		if err := json.Unmarshal([]byte(line), &message); err != nil || !utf8.ValidString(line) {
			t.Errorf("%q is not JSON: %v", line, err)
		}
		if text, ok := message.Data.(string); ok {
			got = append(got, text)
		}
		if strings.ContainsAny(line, "\x1b\x7f\u009b\u202e\U000e0041") {
			t.Errorf("%q moves the cursor of a terminal", line)
		}
	}
	if want := "sh\n1 root\x1b[2J\\xff\u202e|\\xc3 é"; strings.Join(got, "|") != want {
		t.Errorf("the texts are %q, want %q", got, want)
	}
	for _, want := range []string{`"sh\n1 root\u001b[2J\\xff\u202e"`, `"\u0000\u007f\u009b\udb40\udc41é\"\\"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, &out)
		}
	}
}
