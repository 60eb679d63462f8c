package livetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// Interpreter runs programs of a language.
type Interpreter struct {
	Name    string
	Command []string
	Suffix  string // of the names of its programs: "py", "php", "pl", "rb"
	Main    string // what it calls a program's outermost function
}

// Interpreters are those that are installed of Python, in all versions, PHP, Perl and Ruby.
func Interpreters(t *testing.T) []Interpreter {
	t.Helper()
	all := []Interpreter{
		{"php", []string{"php", "-d", "opcache.enable_cli=0"}, "php", "{main}"},
		{"perl", []string{"perl"}, "pl", "{main}"},
		{"ruby", []string{"ruby", "--disable=gems"}, "rb", "<main>"},
	}
	home, _ := os.UserHomeDir()
	pythons, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
	for _, path := range append(pythons, "/usr/bin/python3") {
		all = append(all, Interpreter{"python " + filepath.Base(filepath.Dir(filepath.Dir(path))), []string{path}, "py", "<module>"})
	}
	all = slices.DeleteFunc(all, func(i Interpreter) bool {
		_, err := exec.LookPath(i.Command[0])
		return err != nil
	})
	if len(all) == 0 {
		t.Skip("none of python3, php, perl, ruby is installed")
	}
	return all
}

// Running is the command of a program of testdata without its suffix, with arguments.
func (i *Interpreter) Running(program string, args ...string) *exec.Cmd {
	command := append(slices.Clone(i.Command), filepath.Join("testdata", program+"."+i.Suffix))
	return exec.Command(command[0], append(command[1:], args...)...)
}
