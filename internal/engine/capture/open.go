package capture

import (
	"bytes"
	"debug/elf"
	"embed"
	"fmt"
	"runtime"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
)

//go:embed testdata/*.capture
var captures embed.FS

// Program is the path of the program whose runs are in testdata.
const Program = "/tmp/ringtap-known/known"

// Open returns the capture with the given name in testdata. It skips the test if the capture is for
// another architecture.
func Open(t testing.TB, name string) *Source {
	t.Helper()
	f, err := captures.Open(fmt.Sprintf("testdata/%s.capture", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, err := Read(f)
	if err != nil {
		t.Fatal(err)
	}
	if file.Arch != runtime.GOARCH {
		t.Skipf("the capture has registers of %s", file.Arch)
	}
	source, err := file.Source(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// Sources returns the samplings of a capture. All of them must be probes.
func (f *File) Sources(t testing.TB) []probe.Source {
	t.Helper()
	sources := make([]probe.Source, len(f.Samplings))
	for i, about := range f.Samplings {
		s := &sources[i]
		switch {
		case about.Hit:
			s.Role = probe.Hit
		case about.Return:
			s.Role, s.Site.Return = probe.Return, true
		default:
			s.Role = probe.Enter
		}
		if about.Format != "" {
			s.Format = f.Format(t, i)
		}
	}
	return sources
}

// Place returns the address of a function of Program, and its offset in the file.
func (f *File) Place(t testing.TB, name string) (address, offset uint64) {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(f.Files[Program]))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		for _, p := range file.Progs {
			if s.Name == name && p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value, s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("the program has no function %s", name)
	return 0, 0
}

// Format returns the format of a sampling's records.
func (f *File) Format(t testing.TB, sampling int) *ftrace.Format {
	t.Helper()
	format, err := ftrace.ParseFormat([]byte(f.Samplings[sampling].Format))
	if err != nil {
		t.Fatal(err)
	}
	return format
}
