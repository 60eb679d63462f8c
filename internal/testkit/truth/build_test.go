package truth

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

func TestEveryProgramPrintsTheChainAndIsBusyForTheTimeAskedFor(t *testing.T) {
	for _, p := range Programs() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			built := p.Build(t)
			if err := built.Match(slices.DeleteFunc(slices.Clone(built.Chain), isGap)); err != nil {
				t.Errorf("its own chain does not match: %v", err)
			}
			cmd := built.Command(0.1)
			output, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Fields(string(output)); !slices.Equal(got, strings.Fields(strings.Join(built.Chain, " "))) {
				t.Errorf("the busy run prints %q, the idle one %q", got, built.Chain)
			}
			// Timers count CPU time in ticks of up to 10 ms, so this tells only
			// that it was busy for more than its start takes.
			if used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); used.Seconds() < 0.04 {
				t.Errorf("used %v of CPU, want about 100ms", used)
			}
		})
	}
}

func isGap(name string) bool { return name == Gap }

func TestVariantsAreWhatTheirNamesSay(t *testing.T) {
	tests := []struct {
		name    string
		symtab  bool
		dynamic bool // needs a dynamic loader
		kind    elf.Type
		section string // that it must have
		without string // that it must not have
	}{
		{"c-O2-nofp", true, true, elf.ET_DYN, ".debug_info", ".debug_frame"},
		{"c-O2-nofp-nopie", true, true, elf.ET_EXEC, "", ".debug_info"},
		{"c-O2-nofp-static", true, false, elf.ET_EXEC, "", ".debug_info"},
		{"c-O2-nofp-staticpie", true, false, elf.ET_DYN, "", ".debug_info"},
		{"c-O2-nofp-stripped", false, true, elf.ET_DYN, ".dynsym", ".debug_info"},
		{"c-O2-nofp-debugdata", false, true, elf.ET_DYN, ".gnu_debugdata", ".debug_info"},
		{"c-O2-nofp-debuglink", false, true, elf.ET_DYN, ".gnu_debuglink", ".debug_info"},
		{"c-O2-nofp-debugframe", true, true, elf.ET_DYN, ".debug_frame", ""},
		{"go-stripped", false, false, elf.ET_EXEC, ".gopclntab", ".debug_info"},
		{"go-pie", true, true, elf.ET_DYN, ".gopclntab", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := elf.Open(Named(test.name).Build(t).Path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Type != test.kind {
				t.Errorf("type %v, want %v", f.Type, test.kind)
			}
			if got := f.Section(".symtab") != nil; got != test.symtab {
				t.Errorf("has a symbol table: %t, want %t", got, test.symtab)
			}
			if got := f.Section(".interp") != nil; got != test.dynamic {
				t.Errorf("has a dynamic loader: %t, want %t", got, test.dynamic)
			}
			if test.section != "" && f.Section(test.section) == nil {
				t.Errorf("has no %s", test.section)
			}
			if test.without != "" && f.Section(test.without) != nil {
				t.Errorf("has %s", test.without)
			}
		})
	}
}

func TestDeepProgramsUseAsMuchStackAsTheirNamesSay(t *testing.T) {
	for name, least := range map[string]uint64{"deep-nofp-10KiB": 8 << 10, "deep-nofp-20KiB": 16 << 10, "deep-nofp-45KiB": 40 << 10} {
		t.Run(name, func(t *testing.T) {
			built := Named(name).Build(t)
			frame, err := descendFrame(built.Path)
			if err != nil {
				t.Skip(err)
			}
			if got := frame * uint64(len(built.Chain)-2); got < least || got > 63<<10 {
				t.Errorf("%d frames of %d bytes are %d bytes, want %d to %d", len(built.Chain)-2, frame, got, least, 63<<10)
			}
		})
	}
}

func TestProgramNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range programs {
		if seen[p.Name] {
			t.Errorf("%s is there twice", p.Name)
		}
		seen[p.Name] = true
		if !strings.Contains(p.commands, "-o "+p.Name+" ") {
			t.Errorf("no command of %s makes %[1]s", p.Name)
		}
	}
}

func TestAMissingCompilerIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Named("c-O2-fp").Compile(t.TempDir())
	missing := (*compiled.MissingError)(nil)
	if !errors.As(err, &missing) || missing.Tool != "gcc" {
		t.Errorf("Compile without a compiler = %v; want gcc missing", err)
	}
}

func TestAProgramThatDoesNotExistIsAnError(t *testing.T) {
	if _, err := Named("no such program").Compile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("Compile = %v; want an error with the name", err)
	}
}

func TestACompilerThatFailsIsQuoted(t *testing.T) {
	dir := t.TempDir()
	p := Program{Name: "broken", commands: "gcc -o broken no-such-file.c"}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	if _, err := p.Compile(dir); err == nil || !strings.Contains(err.Error(), "no-such-file.c") {
		t.Errorf("Compile = %v; want gcc's message", err)
	}
	if _, err := os.Stat(dir + "/broken"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is an executable: %v", err)
	}
}
