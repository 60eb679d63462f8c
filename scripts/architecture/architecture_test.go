// Package architecture tests what ARCHITECTURE.md promises of the packages' imports.
package architecture

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	document = "../../ARCHITECTURE.md"
	header   = "| package | must not know | reaches none of |"
	module   = "github.com/ringtap/ringtap/"
)

// rule is a row of the table.
type rule struct {
	packages, but, not, still []string // patterns, as the row has them
}

var quoted = regexp.MustCompile("`([^`]+)`")

// names returns the texts in backquotes.
func names(text string) []string {
	var found []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// readRules reads the table.
func readRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), header+"\n|---|---|---|\n")
	if !ok {
		t.Fatalf("%s has no table %q", document, header)
	}
	var rules []rule
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		packages, but, _ := strings.Cut(cells[1], " but ")
		not, still, _ := strings.Cut(cells[3], " but ")
		rules = append(rules, rule{names(packages), names(but), names(not), names(still)})
	}
	return rules
}

// matches tells whether a package is one of those that patterns stand for: a/… is a and
// what lies below it.
func matches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		dir, below := strings.CutSuffix(pattern, "/…")
		return pkg == dir || below && strings.HasPrefix(pkg, dir+"/")
	})
}

func TestPackagesReachOnlyWhatTheyMayKnow(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not on the PATH")
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Deps \" \"}}", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	rules := readRules(t)
	if len(rules) < 10 {
		t.Fatalf("%d rules in %s", len(rules), document)
	}
	known := make([]bool, len(rules))
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], module)
		for i, r := range rules {
			if !matches(r.packages, pkg) || matches(r.but, pkg) {
				continue
			}
			known[i] = true
			for _, dep := range words[1:] {
				if dep, ours := strings.CutPrefix(dep, module); ours && matches(r.not, dep) && !matches(r.still, dep) {
					t.Errorf("%s reaches %s", pkg, dep)
				}
			}
		}
	}
	for i, r := range rules {
		if !known[i] {
			t.Errorf("no package is %q", r.packages)
		}
	}
}
