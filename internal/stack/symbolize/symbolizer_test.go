package symbolize_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// The file of the window that most tests use, and functions in it.
const (
	tinyELF   = "../../../symbols/testdata/tiny.elf"
	tinyF     = 0x10c // f, at 0x40010c
	tinyStart = 0x116 // _start
)

// set makes a set of images, from ObjectID 1 on, and stacks, leaf first.
func set(images []*stack.Image, stacks ...[]callchain.Frame) *stack.Set {
	s := &stack.Set{Images: map[callchain.ObjectID]*stack.Image{callchain.Kernel: {Kind: process.Kernel, Path: "[kernel]"}}}
	for i, image := range images {
		s.Images[callchain.ObjectID(i+1)] = image
	}
	for _, frames := range stacks {
		s.Stacks = append(s.Stacks, stack.Stack{Frames: frames})
	}
	return s
}

// symbolizer makes a Symbolizer that is closed with the test.
func symbolizer(t *testing.T, opts symbolize.Options) *symbolize.Symbolizer {
	t.Helper()
	s := symbolize.New(opts)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// names are the functions of a stack, root first.
func names(p *profile.Profile, stack int) []string {
	var all []string
	for _, f := range p.Stacks[stack].Frames {
		all = append(all, p.Frames[f].Name)
	}
	return all
}

func TestStacksReadRootFirstAndAFrameIsThereOnce(t *testing.T) {
	w := set([]*stack.Image{fileImage(t, tinyELF)},
		[]callchain.Frame{{Object: 1, Offset: tinyF + 3}, {Object: 1, Offset: tinyStart + 8}},
		[]callchain.Frame{{Object: 1, Offset: tinyStart + 8}},
	)
	w.Stacks[1].Truncated = true
	p := symbolizer(t, symbolize.Options{}).Profile(w, nil)
	if got, want := names(p, 0), []string{"_start", "f"}; !slices.Equal(got, want) {
		t.Errorf("stack 0 = %q, want %q", got, want)
	}
	if len(p.Frames) != 2 || p.Stacks[0].Frames[0] != p.Stacks[1].Frames[0] {
		t.Errorf("%d frames, stacks %v; want the shared frame once", len(p.Frames), p.Stacks)
	}
	if p.Stacks[0].Truncated || !p.Stacks[1].Truncated {
		t.Errorf("truncated: %t, %t; want that of the set", p.Stacks[0].Truncated, p.Stacks[1].Truncated)
	}
	want := profile.Frame{Object: 1, Address: tinyF + 3, Name: "f", RawName: "f", Offset: 3, Start: tinyF}
	if diff := cmp.Diff(want, p.Frames[p.Stacks[0].Frames[1]]); diff != "" {
		t.Errorf("leaf (-want +got):\n%s", diff)
	}
	if object := p.Objects[1]; object.Path != tinyELF || object.BuildID == "" || !object.HasFunctions || object.HasLines {
		t.Errorf("object = %+v", object)
	}
	if len(p.Notes) != 0 {
		t.Errorf("notes %q", p.Notes)
	}
}

func TestAnImageThatCantBeReadCostsItsNamesAlone(t *testing.T) {
	refused := errors.New("refused")
	for name, image := range map[string]*stack.Image{
		"could not be opened": {Kind: process.File, Path: "/lost", Err: refused},
		"fails when read":     {Kind: process.File, Path: "/lost", Code: failing{refused}, Size: 4096},
		"is no ELF file":      {Kind: process.File, Path: "/lost", Code: strings.NewReader("#!/bin/sh"), Size: 9},
		"is empty":            {Kind: process.File, Path: "/lost", Code: strings.NewReader("")},
		"has nothing at all":  {Kind: process.File, Path: "/lost"},
	} {
		t.Run(name, func(t *testing.T) {
			p := symbolizer(t, symbolize.Options{Lines: true}).Profile(set([]*stack.Image{fileImage(t, tinyELF), image},
				[]callchain.Frame{{Object: 2, Offset: 0x40}, {Object: 1, Offset: tinyF}}), nil)
			if got, want := names(p, 0), []string{"f", ""}; !slices.Equal(got, want) {
				t.Errorf("names = %q, want %q", got, want)
			}
			leaf := p.Frames[p.Stacks[0].Frames[1]]
			if object := p.Objects[leaf.Object]; leaf.Address != 0x40 || object.Path != "/lost" || object.HasFunctions {
				t.Errorf("leaf %+v in %+v; want the address in /lost", leaf, object)
			}
		})
	}
}

// failing is a file that can't be read.
type failing struct{ err error }

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// once counts the reads of a file.
type once struct {
	io.ReaderAt
	reads int
}

func (o *once) ReadAt(b []byte, at int64) (int, error) {
	o.reads++
	return o.ReaderAt.ReadAt(b, at)
}

func TestTheNextWindowFindsWhatTheOneBeforeHasLearned(t *testing.T) {
	image := fileImage(t, tinyELF)
	file := &once{ReaderAt: image.Code}
	image.Code = file
	other := fileImage(t, tinyELF)
	s := symbolizer(t, symbolize.Options{})
	first := s.Profile(set([]*stack.Image{other, image}, []callchain.Frame{{Object: 2, Offset: tinyF}}), nil)
	reads := file.reads
	if reads == 0 {
		t.Fatal("the file was not read")
	}
	// In the next window the object has another place in the profile.
	second := s.Profile(set([]*stack.Image{other, image},
		[]callchain.Frame{{Object: 1, Offset: tinyF}}, []callchain.Frame{{Object: 2, Offset: tinyF}}), nil)
	if file.reads != reads {
		t.Errorf("the second window read the file %d times", file.reads-reads)
	}
	if first.Frames[0].Object != 1 || second.Frames[1].Object != 2 || second.Frames[1].Name != "f" {
		t.Errorf("frames %+v, then %+v; want f of the profile's own object", first.Frames, second.Frames)
	}
}

func TestKernelFramesAreNamedByKallsymsWithTheirModule(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kallsyms")
	text := "ffffffff81000000 T do_work\nffffffff81000100 T after\nffffffffc0000000 t mod_work\t[mod]\nffffffffc0000040 t mod_more\t[mod]\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := symbolizer(t, symbolize.Options{Host: process.Host{Proc: filepath.Dir(path)}}).Profile(set(nil, []callchain.Frame{
		{Object: callchain.Kernel, Offset: 0xffffffffc0000044},
		{Object: callchain.Kernel, Offset: 0xffffffffc0000004},
		{Object: callchain.Kernel, Offset: 0xffffffff81000010},
		// A call at the end of do_work that never returns: "do_work+0x100/0x100" in the kernel's words.
		{Object: callchain.Kernel, Return: true, Offset: 0xffffffff810000ff},
		{Object: callchain.Kernel, Offset: 0xffffffff00000000},
	}), nil)
	type place struct {
		Name, Object string
		Offset       uint64
		Kernel       bool
	}
	var got []place
	for _, i := range p.Stacks[0].Frames {
		f := p.Frames[i]
		got = append(got, place{f.Name, p.Objects[f.Object].Path, f.Offset, p.Objects[f.Object].Kernel})
	}
	want := []place{
		{"", "[kernel]", 0, true},
		{"do_work", "[kernel]", 0x100, true},
		{"do_work", "[kernel]", 0x10, true},
		{"mod_work", "[mod]", 4, true},
		{"mod_more", "[mod]", 4, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(p.Notes) != 0 || len(p.Objects) != 2 {
		t.Errorf("notes %q, objects %v; want none, and the module once", p.Notes, p.Objects)
	}
}

func TestANoteSaysWhyTheKernelsFramesHaveNoNames(t *testing.T) {
	hidden := filepath.Join(t.TempDir(), "kallsyms")
	if err := os.WriteFile(hidden, []byte("0000000000000000 T do_work\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	kernel := []callchain.Frame{{Object: callchain.Kernel, Offset: 0xffffffff81000010}}
	user := []callchain.Frame{{Object: 1, Offset: tinyF}}
	for _, test := range []struct {
		name, proc string
		stack      []callchain.Frame
		want       string // in the note; "" is none
	}{
		{"hidden addresses", filepath.Dir(hidden), kernel, "kernel.kptr_restrict"},
		{"no file", t.TempDir(), kernel, "no such file"},
		{"no kernel frames", filepath.Dir(hidden), user, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := symbolizer(t, symbolize.Options{Host: process.Host{Proc: test.proc}})
			for range 2 { // the note is each window's
				p := s.Profile(set([]*stack.Image{fileImage(t, tinyELF)}, test.stack), nil)
				notes := strings.Join(p.Notes, "\n")
				if (test.want == "") != (len(p.Notes) == 0) || !strings.Contains(notes, test.want) {
					t.Errorf("notes %q, want one with %q", p.Notes, test.want)
				}
			}
		})
	}
}

func TestGeneratedCodeIsNamedByThePerfMapOfItsWindow(t *testing.T) {
	s := symbolizer(t, symbolize.Options{})
	chain := []callchain.Frame{{Object: 1, Offset: 0x7f0000001010}, {Object: 1, Offset: 0x7f0000002020}}
	jit := func(text string) []*stack.Image {
		return []*stack.Image{{Kind: process.Anon, Path: "[anon]", PID: 7, PerfMap: strings.NewReader(text)}}
	}
	const first = "7f0000001000 100 function a() file.js:1\n"
	const second = first + "7f0000002000 100 _ZN2ns1fEv\n"
	for _, test := range []struct {
		images []*stack.Image
		want   []string
		mapped bool
	}{
		{jit(first), []string{"", "function a() file.js:1"}, true},
		{jit(second), []string{"ns::f", "function a() file.js:1"}, true}, // it has grown
		{[]*stack.Image{{Kind: process.Anon, Path: "[anon]", PID: 7}}, []string{"", ""}, false},
	} {
		p := s.Profile(set(test.images, chain), nil)
		if got := names(p, 0); !slices.Equal(got, test.want) {
			t.Errorf("names = %q, want %q", got, test.want)
		}
		if p.Objects[1].HasFunctions != test.mapped || len(p.Objects) != 2 {
			t.Errorf("objects = %+v; want one, with functions: %t", p.Objects, test.mapped)
		}
	}
}

// A tracer has each stack symbolized by itself: reading megabytes for each, it would
// never come to an end.
func TestAPerfMapIsNotReadForEachOfManyBriefWindows(t *testing.T) {
	s := symbolizer(t, symbolize.Options{CachePerfMaps: true})
	text, reads := "7f0000001000 1000 function a() file.js:1\n", 0
	name := func(offset uint64) string {
		counted := &readOnce{Reader: strings.NewReader(text), first: func() { reads++ }}
		images := []*stack.Image{{Kind: process.Anon, Path: "[anon]", PID: 7, PerfMap: counted}}
		return s.Profile(set(images, []callchain.Frame{{Object: 1, Offset: offset}}), nil).Frames[0].Name
	}
	const windows = 1000
	for i := range uint64(windows) {
		if got := name(0x7f0000001000 + i); got != "function a() file.js:1" {
			t.Fatalf("frame %d is %q", i, got)
		}
	}
	if reads > windows/10 {
		t.Errorf("the map was read %d times for %d windows", reads, windows)
	}
	text += "7f0000002000 100 function b() file.js:2\n"
	for name(0x7f0000002000) == "" { // what is not known is soon looked for
	}
}

// readOnce tells of the first read.
type readOnce struct {
	io.Reader
	first func()
}

func (r *readOnce) Read(p []byte) (int, error) {
	if r.first != nil {
		r.first()
		r.first = nil
	}
	return r.Reader.Read(p)
}

func TestAPerfMapThatFailsIsSaidToTheLoggerOnly(t *testing.T) {
	var log bytes.Buffer
	s := symbolizer(t, symbolize.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	broken := io.MultiReader(strings.NewReader("7f0000001000 100 a\n"), io.NewSectionReader(failing{errors.New("refused")}, 0, 1))
	images := []*stack.Image{{Kind: process.Anon, Path: "[anon]", PID: 7, PerfMap: broken}}
	p := s.Profile(set(images, []callchain.Frame{{Object: 1, Offset: 0x7f0000001010}}, []callchain.Frame{{Object: 1, Offset: 0x7f0000001011}}), nil)
	if len(p.Frames) != 2 || p.Frames[0].Name != "" || len(p.Notes) > 0 {
		t.Errorf("frames %+v, notes %q", p.Frames, p.Notes)
	}
	if text := log.String(); strings.Count(text, "refused") != 1 || !strings.Contains(text, "pid=7") {
		t.Errorf("log = %q, want one line for process 7", text)
	}
}

func TestProgressGoesUpToAllDistinctFrames(t *testing.T) {
	chain := []callchain.Frame{{Object: 1, Offset: tinyF}, {Object: 1, Offset: tinyStart}}
	w := set([]*stack.Image{fileImage(t, tinyELF)}, chain[:1], chain, chain)
	var told [][2]int
	symbolizer(t, symbolize.Options{}).Profile(w, func(done, all int) { told = append(told, [2]int{done, all}) })
	if want := [][2]int{{1, 2}, {2, 2}}; !slices.Equal(told, want) {
		t.Errorf("progress %v, want %v", told, want)
	}
}

func TestWhatTheKernelPutsInAProcessForProbesHasAName(t *testing.T) {
	image := &stack.Image{Kind: process.Special, Path: "[uprobes]"}
	p := symbolizer(t, symbolize.Options{}).Profile(set([]*stack.Image{image}, []callchain.Frame{
		{Object: 1, Offset: 0x7ffff7fc1103}, {Object: 1, Offset: 0x7ffff7fc1000},
	}), nil)
	got := []string{p.Frames[0].String(), p.Frames[1].String()}
	if want := []string{"[uprobe]+0x3", "[uretprobe]+0x0"}; !slices.Equal(got, want) {
		t.Errorf("the code is %q, want %q", got, want)
	}
}
