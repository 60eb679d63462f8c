package symbolize_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// The tables of a module for CPython name its functions, where no symbol does.
func TestTablesOfAModuleNameWhatHasNoSymbol(t *testing.T) {
	sources := compiled.Sources(t, "../../object/pytable/testdata/module.c")
	for _, test := range []struct{ name, visibility, file, want string }{
		{"stripped", "hidden", "stripped.so", "list.append"},
		{"exported and stripped", "default", "stripped.so", "f_append"},
		{"with its symbols", "hidden", "module.so", "f_append"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := compiled.Recipe{Sources: sources, Commands: [][]string{
				{"gcc", "-shared", "-nostdlib", "-fPIC", "-O2", "-fvisibility=" + test.visibility, "-o", "module.so", "module.c"},
				{"strip", "-o", "stripped.so", "module.so"},
			}}.Dir(t)
			at := offsetOf(t, filepath.Join(dir, "module.so"), "f_append")
			p := symbolizer(t, symbolize.Options{}).Profile(set([]*stack.Image{fileImage(t, filepath.Join(dir, test.file))}, []callchain.Frame{
				{Object: 1, Offset: at}, {Object: 1, Return: true, Offset: at + 2},
			}), nil)
			want := []profile.Frame{
				{Object: 1, Address: at, Name: test.want, RawName: test.want, Start: at},
				{Object: 1, Address: at + 2, Return: true, Name: test.want, RawName: test.want, Offset: 3, Start: at},
			}
			if diff := cmp.Diff(want, p.Frames); diff != "" {
				t.Error(diff)
			}
		})
	}
}
