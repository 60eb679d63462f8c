package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

const text = `look [options] PID

Look at a process. This line is
wrapped again.

  A   stays
  B   as it is

  tool look 1           once
  tool look --out x 1   to a file

.Details begin with a period, and \have a backslash.
`

func sample() *Program {
	flags := pflag.NewFlagSet("look", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.IntP("pid", "p", 0, "only process `PID`: it's all")
	flags.String("mode", "fast", "look in `MODE`")
	SetValues(flags, "mode", "fast", "slow")
	SetGroup(flags, "Target")
	flags.String("out", "", "write to `FILE`")
	flags.Bool("all", false, "look at all [of them]")
	flags.Bool("secret", false, "not shown")
	_ = flags.MarkHidden("secret")
	SetGroup(flags, "Output")
	page := Parse("look", "look at a process", strings.ReplaceAll(text, "tool", "ringtap"))
	page.AddFlags(flags, "Target", "When", "Output")
	return &Program{Name: "ringtap", Summary: "looks", Pages: []Page{*page, {Name: "other", summary: "do nothing"}}}
}

func TestHelp(t *testing.T) {
	const want = `Usage: ringtap look [options] PID

Look at a process. This line is wrapped again.

  A   stays
  B   as it is

Examples:
  ringtap look 1          once
  ringtap look --out x 1  to a file

Target:
  -p, --pid PID           only process PID: it's all
      --mode MODE         look in MODE (default: fast)

Output:
      --out FILE          write to FILE
      --all               look at all [of them]

Help:
  -h, --help              show this help

.Details begin with a period, and \have a backslash.
`
	if got := sample().Pages[0].Help("ringtap", 80); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestHelpFitsItsWidth(t *testing.T) {
	for _, width := range []int{60, 80, 100} {
		for line := range strings.Lines(sample().Pages[0].Help("ringtap", width)) {
			if len(line) > width+1 {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}

func TestRoffEscapesWhatItsReaderTakesForRequests(t *testing.T) {
	page := sample().Roff(&sample().Pages[0])
	for _, want := range []string{
		"\n\\&.Details begin with a period, and \\ehave a backslash.\n",
		"\\fB\\-p\\fR, \\fB\\-\\-pid\\fR \\fIPID\\fR\n",
		".SS Output\n", ".nf\n  A   stays\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "secret") {
		t.Error("the page has a hidden option")
	}
}

// bash itself completes.
func TestBashCompletes(t *testing.T) {
	script, err := sample().Completion("bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"script", "first.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		words string
		want  string
	}{
		{"ringtap lo", "look"},
		{"ringtap ", "look other help"},
		{"ringtap look --m", "--mode"},
		{"ringtap look --mode s", "slow"},
		{"ringtap look --out fi", "first.txt"},
		{"ringtap look --pid 1", ""}, // process 1, and those whose numbers begin so
		{"ringtap help o", "other"},
		{"ringtap look -- fi", "first.txt"},
	} {
		words := strings.Split(test.words, " ")
		cmd := exec.Command("bash", append([]string{"-c",
			`. ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ringtap; echo "${COMPREPLY[*]}"`, "-"}, words...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", test.words, err, out)
		}
		got := strings.TrimSpace(string(out))
		switch {
		case words[len(words)-1] == "fi" && !strings.Contains(" "+got+" ", " "+test.want+" "),
			words[len(words)-2] == "--pid" && !strings.HasPrefix(got, "1"),
			test.want != "" && words[len(words)-1] != "fi" && got != test.want:
			t.Errorf("%q completes to %q, want %q", test.words, got, test.want)
		}
	}
}

// The other shells read their scripts, where they are installed.
func TestShellsReadTheirScripts(t *testing.T) {
	for _, shell := range []string{"zsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("%s: not installed", shell)
			}
			script, err := sample().Completion(shell)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(path, "-n", file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s\n%s", err, out, script)
			}
		})
	}
	if _, err := sample().Completion("tcsh"); err == nil || !strings.Contains(err.Error(), "bash, zsh, fish") {
		t.Errorf("tcsh: %v", err)
	}
}
