package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// provider is a type of probe.
type provider struct {
	name  string
	other []string // short name, and names in older releases
	form  string   // how to write its attach points
	least int      // minimum number of words after the name
	most  int
	paths bool // its words may contain slashes
}

// isUser reports whether a probe type wildcard includes p if a path follows.
func (p *provider) isUser() bool { return p.name == "uprobe" || p.name == "usdt" }

// isUprobe reports whether p probes functions of a file.
func (p *provider) isUprobe() bool { return p.name == "uprobe" || p.name == "uretprobe" }

// isKernel reports whether a probe type wildcard includes p if no path follows.
func (p *provider) isKernel() bool {
	switch p.name {
	case "hardware", "software", "kprobe", "fentry", "tracepoint", "rawtracepoint", "iter":
		return true
	}
	return false
}

func providers() []provider {
	return []provider{
		{name: "begin", other: []string{"BEGIN"}, form: "begin"},
		{name: "end", other: []string{"END"}, form: "end"},
		{name: "self", form: "self:signal:SIGUSR1", least: 2, most: 2},
		{name: "test", form: "test:NAME", least: 1, most: 1},
		{name: "bench", form: "bench:NAME", least: 1, most: 1},
		{name: "hardware", other: []string{"h"}, form: "hardware:EVENT[:COUNT]", least: 1, most: 2},
		{name: "software", other: []string{"s"}, form: "software:EVENT[:COUNT]", least: 1, most: 2},
		{name: "interval", other: []string{"i"}, form: "interval:s:1 or interval:1s", least: 1, most: 2},
		{name: "profile", other: []string{"p"}, form: "profile:hz:99", least: 1, most: 2},
		{name: "iter", other: []string{"it"}, form: "iter:task[:PIN]", least: 1, most: 2, paths: true},
		{name: "fentry", other: []string{"f", "kfunc"}, form: "fentry:[MODULE:]FUNCTION", least: 1, most: 3},
		{name: "fexit", other: []string{"fr", "kretfunc"}, form: "fexit:[MODULE:]FUNCTION", least: 1, most: 3},
		{name: "kprobe", other: []string{"k"}, form: "kprobe:[MODULE:]FUNCTION[+OFFSET]", least: 1, most: 2},
		{name: "kretprobe", other: []string{"kr"}, form: "kretprobe:[MODULE:]FUNCTION", least: 1, most: 2},
		{name: "rawtracepoint", other: []string{"rt"}, form: "rawtracepoint:[MODULE:]EVENT", least: 1, most: 2},
		{name: "tracepoint", other: []string{"t"}, form: "tracepoint:CATEGORY:EVENT", least: 2, most: 2},
		{name: "uprobe", other: []string{"u"}, form: "uprobe:FILE:FUNCTION[+OFFSET]", least: 2, most: 3, paths: true},
		{name: "uretprobe", other: []string{"ur"}, form: "uretprobe:FILE:FUNCTION", least: 2, most: 3, paths: true},
		{name: "usdt", other: []string{"U"}, form: "usdt:FILE:[PROVIDER:]NAME", least: 1, most: 3, paths: true},
		{name: "watchpoint", other: []string{"w"}, form: "watchpoint:ADDRESS:LENGTH:MODE", least: 3, most: 3},
		{name: "asyncwatchpoint", other: []string{"aw"}, form: "asyncwatchpoint:ADDRESS:LENGTH:MODE", least: 3, most: 3},
	}
}

// findProvider returns the provider with this name, in full or short.
func findProvider(word string) (provider, bool) {
	for _, p := range providers() {
		if p.name == word || slices.Contains(p.other, word) {
			return p, true
		}
	}
	return provider{}, false
}

// matchProviders returns the providers that match a word with wildcards and accept the words after
// it.
func matchProviders(word string, args []string) []provider {
	user := len(args) > 0 && strings.Contains(args[0], "/")
	pattern, err := match.ParseGlob(word)
	if err != nil {
		return nil
	}
	var found []provider
	for _, p := range providers() {
		of := p.isKernel() && !user || p.isUser() && user
		if of && p.least <= len(args) && len(args) <= p.most && pattern.Match(p.name) {
			found = append(found, p)
		}
	}
	return found
}

// unknownProvider records an error that suggests a similar provider.
func (p *parser) unknownProvider(t token, word string) {
	if word == "" {
		p.report(t, "a probe begins with its type, such as kprobe", "")
		return
	}
	known := []string{"config", "import", "macro", "struct", "let"}
	for _, kind := range providers() {
		known = append(known, kind.name)
	}
	hint := didYouMean(strings.ToLower(word), known...)
	if !strings.Contains(word, "*") {
		t.length = min(t.length, len(word))
	}
	p.report(t, "there is no probe type "+strconv.Quote(shorten(word, 40)), hint)
}

// checkWords records an error if an attach point has too few or too many words.
func (p *parser) checkWords(t token, kind provider, args []string) {
	n := len(args)
	if n > 1 && args[1] == "@" {
		n -= 2 // a source line replaces the function
	}
	if n < kind.least || n > kind.most {
		p.report(t, fmt.Sprintf("%s takes %s, not %d", kind.name, words(kind.least, kind.most), n), "Write "+kind.form+".")
	}
}

func words(minWords, maxWords int) string {
	switch {
	case maxWords == 0:
		return "no words after it"
	case minWords == maxWords && maxWords == 1:
		return "one word after it"
	case minWords == maxWords:
		return fmt.Sprintf("%d words after it", maxWords)
	}
	if maxWords == minWords+1 {
		return fmt.Sprintf("%d or %d words after it", minWords, maxWords)
	}
	return fmt.Sprintf("%d to %d words after it", minWords, maxWords)
}

// didYouMean returns a hint with the known name nearest to word, or "".
func didYouMean(word string, known ...string) string {
	nearest := match.NewNearest(word, 1+len(word)/4, 1, nil)
	for _, name := range known {
		nearest.Add(name)
	}
	if found := nearest.Names(); len(found) > 0 {
		return "Did you mean " + found[0] + "?"
	}
	return ""
}
