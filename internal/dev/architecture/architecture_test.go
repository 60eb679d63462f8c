// Package architecture tests that the packages' imports keep to the layers of rules.txt.
package architecture

import (
	_ "embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ringtap/ringtap/"

//go:embed rules.txt
var rules string

// layer is a line of rules.txt.
type layer struct {
	name     string
	patterns []string // its packages; "a/…" is a and everything below it
	limited  bool     // only was given: other layers above are forbidden
	only     []string // layers above that it may reach, if limited
	never    []string // layers above that it must not reach
}

// parseLayers returns the layers of text, from the bottom up.
func parseLayers(text string) ([]layer, error) {
	var layers []layer
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		l := layer{name: words[0]}
		if slices.ContainsFunc(layers, func(other layer) bool { return other.name == l.name }) {
			return nil, fmt.Errorf("two layers are called %s", l.name)
		}
		to := &l.patterns
		for _, word := range words[1:] {
			switch word {
			case "only":
				l.limited, to = true, &l.only
				continue
			case "never":
				to = &l.never
				continue
			}
			if to != &l.patterns && !slices.ContainsFunc(layers, func(above layer) bool { return above.name == word }) {
				return nil, fmt.Errorf("layer %s: no layer above it is called %q", l.name, word)
			}
			*to = append(*to, word)
		}
		layers = append(layers, l)
	}
	return layers, nil
}

// mayReach reports whether a package of layer l may reach packages of the layer above, which
// comes before l in rules.txt.
func (l layer) mayReach(above string) bool {
	return (!l.limited || slices.Contains(l.only, above)) && !slices.Contains(l.never, above)
}

// find returns the index of the layer that pkg belongs to: the one whose pattern names the
// longest path, and pkg itself rather than a tree. It returns -1 if no layer has the package.
func find(layers []layer, pkg string) int {
	found, longest := -1, -1
	for i, l := range layers {
		for _, pattern := range l.patterns {
			dir, below := strings.CutSuffix(pattern, "/…")
			if pkg != dir && !(below && strings.HasPrefix(pkg, dir+"/")) {
				continue
			}
			length := 2 * len(dir)
			if !below {
				length++
			}
			if length > longest {
				found, longest = i, length
			}
		}
	}
	return found
}

// dependencies returns the packages of this module, each with the packages of this module
// that it reaches.
func dependencies(t *testing.T) map[string][]string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not on the PATH")
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	reached := make(map[string][]string)
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg := strings.TrimPrefix(words[0], module)
		reached[pkg] = nil
		for _, word := range words[1:] {
			if dep, ours := strings.CutPrefix(word, module); ours {
				reached[pkg] = append(reached[pkg], dep)
			}
		}
	}
	return reached
}

func TestPackagesReachOnlyLayersThatTheyMayKnow(t *testing.T) {
	layers, err := parseLayers(rules)
	if err != nil {
		t.Fatal(err)
	}
	type pair struct{ from, to string } // names of layers
	reached := make(map[pair]bool)
	used := make(map[string]bool)
	for pkg, deps := range dependencies(t) {
		own := find(layers, pkg)
		if own < 0 {
			t.Errorf("%s is in no layer of rules.txt", pkg)
			continue
		}
		used[layers[own].name] = true
		for _, dep := range deps {
			other := find(layers, dep)
			if other < 0 || other == own {
				continue
			}
			reached[pair{layers[own].name, layers[other].name}] = true
			if other > own {
				t.Errorf("%s (%s) reaches %s (%s), which is a layer below it in rules.txt", pkg, layers[own].name, dep, layers[other].name)
			} else if !layers[own].mayReach(layers[other].name) {
				t.Errorf("%s (%s) reaches %s (%s), which rules.txt forbids", pkg, layers[own].name, dep, layers[other].name)
			}
		}
	}
	for _, l := range layers {
		if !used[l.name] {
			t.Errorf("layer %s has no package", l.name)
		}
		for _, name := range l.only {
			if !reached[pair{l.name, name}] {
				t.Errorf("layer %s may reach %s and does not: take the word out of rules.txt", l.name, name)
			}
		}
	}
}

func TestRulesThatMakeNoSenseAreRefused(t *testing.T) {
	for text, why := range map[string]string{
		"a pkg/a\nb pkg/b never c\nc pkg/c\n": "a rule may name a layer that is not above its line",
		"a pkg/a\na pkg/b\n":                  "two layers may have one name",
	} {
		if _, err := parseLayers(text); err == nil {
			t.Error(why)
		}
	}
}

func TestTheLongestPatternDecidesTheLayer(t *testing.T) {
	layers, err := parseLayers("all a/…\npart a/b/…\none a/b/c only all\n")
	if err != nil {
		t.Fatal(err)
	}
	for pkg, want := range map[string]int{"a": 0, "a/x": 0, "a/b": 1, "a/b/d": 1, "a/b/c": 2, "ab": -1} {
		if got := find(layers, pkg); got != want {
			t.Errorf("%s is in layer %d, want %d", pkg, got, want)
		}
	}
	if !layers[2].mayReach("all") || layers[2].mayReach("part") {
		t.Error("a layer with only may reach what it lists and nothing else")
	}
}
