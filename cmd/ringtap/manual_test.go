package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
)

var update = flag.Bool("update", false, "write the manual pages and completion scripts anew")

func described(t *testing.T) (*manual.Program, map[string]*pflag.FlagSet) {
	t.Helper()
	program, flags, err := describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return program, flags
}

// The files in docs are what the flags and help texts make of them.
func TestManualPagesAndCompletionsAreUpToDate(t *testing.T) {
	program, _ := described(t)
	files := map[string]string{"man/ringtap.1": program.RoffProgram()}
	for i := range program.Pages {
		p := &program.Pages[i]
		files["man/"+p.FileName("ringtap")] = program.Roff(p)
	}
	for shell, name := range map[string]string{"bash": "ringtap.bash", "zsh": "_ringtap", "fish": "ringtap.fish"} {
		script, err := program.Completion(shell)
		if err != nil {
			t.Fatal(err)
		}
		files["completion/"+name] = script
	}
	docs := filepath.Join("..", "..", "docs")
	for name, want := range files {
		path := filepath.Join(docs, name)
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is old: go test ./cmd/ringtap -run Manual -update (-want +got):\n%s", path, diff)
		}
	}
	pages, err := filepath.Glob(filepath.Join(docs, "man", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		if _, made := files["man/"+filepath.Base(path)]; !made {
			t.Errorf("%s is the page of no command", path)
		}
	}
}

func TestEachCommandHasThreeExamplesThatItTakes(t *testing.T) {
	program, flags := described(t)
	for i := range program.Pages {
		p := &program.Pages[i]
		if len(p.Examples) < 3 {
			t.Errorf("%s has %d examples, want 3", p.Name, len(p.Examples))
		}
		for _, example := range p.Examples {
			words := strings.Fields(example.Command)
			at := slices.Index(words, "ringtap")
			if at < 0 || find(strings.TrimPrefix(words[at+1], "--")) == nil {
				t.Errorf("%s: %q does not run ringtap", p.Name, example.Command)
				continue
			}
			for _, word := range words[at+2:] {
				if word == "-" { // standard input
					continue
				}
				if word == "--" || strings.ContainsAny(word, "|;<>") {
					break
				}
				name := strings.TrimLeft(word, "-")
				switch set := flags[find(strings.TrimPrefix(words[at+1], "--")).name]; {
				case strings.HasPrefix(word, "--"):
					name, _, _ = strings.Cut(name, "=")
					if set.Lookup(name) == nil && !inAnotherCollector(flags, words, name) {
						t.Errorf("%s: no option %s in %q", p.Name, word, example.Command)
					}
				case strings.HasPrefix(word, "-") && set.ShorthandLookup(name[:1]) == nil:
					t.Errorf("%s: no option %s in %q", p.Name, word, example.Command)
				}
			}
		}
	}
}

// inAnotherCollector reports whether a command line names a collector with that option.
func inAnotherCollector(flags map[string]*pflag.FlagSet, words []string, option string) bool {
	return slices.ContainsFunc(words, func(word string) bool {
		return kindOf(word) != nil && flags[kindOf(word).name].Lookup(option) != nil
	})
}

// A long name means the same wherever it stands: its text begins alike, and it takes a
// value of the same kind. What follows a comma, a colon or a parenthesis is the command's.
func TestALongOptionHasOneMeaning(t *testing.T) {
	_, flags := described(t)
	type meaning struct{ text, command string }
	known := make(map[string]meaning)
	for _, cmd := range commands() {
		flags[cmd.name].VisitAll(func(f *pflag.Flag) {
			_, text := pflag.UnquoteUsage(f)
			if i := strings.IndexAny(text, ",:;("); i > 0 {
				text = strings.TrimSpace(text[:i])
			}
			before, seen := known[f.Name]
			if !seen {
				known[f.Name] = meaning{text, cmd.name}
				return
			}
			if !strings.HasPrefix(text, before.text) && !strings.HasPrefix(before.text, text) {
				t.Errorf("--%s is %q for %s and %q for %s", f.Name, before.text, before.command, text, cmd.name)
			}
		})
	}
}

func TestEveryOptionIsInAGroupAndSaysWhatItTakes(t *testing.T) {
	program, _ := described(t)
	for i := range program.Pages {
		for _, g := range program.Pages[i].Groups {
			for _, o := range g.Options {
				if g.Name == "Options" && len(program.Pages[i].Groups) > 2 {
					t.Errorf("%s --%s is in no group", program.Pages[i].Name, o.Long)
				}
				if o.Value != strings.ToUpper(o.Value) {
					t.Errorf("%s --%s takes a %q: the name of a value is in capitals", program.Pages[i].Name, o.Long, o.Value)
				}
			}
		}
	}
}

// A help text fits a terminal of 80 columns, but for the forms of definitions.
func TestHelpFitsTheTerminal(t *testing.T) {
	program, _ := described(t)
	for i := range program.Pages {
		p := &program.Pages[i]
		for line := range strings.Lines(p.Help("ringtap", 80)) {
			if len([]rune(line)) > 81 && !strings.HasPrefix(line, "Usage:") && !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: %q", p.Name, line)
			}
		}
	}
}
