package livetest

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

//go:embed testdata/deep.c
var deepSource string

// Deep compiles testdata/deep.c, whose stacks are deeper than the copy in a sample. It returns the path of
// the program.
func Deep(t *testing.T, flags ...string) string {
	t.Helper()
	command := append([]string{"gcc", "-O1", "-pthread", "-o", "deep", "deep.c"}, flags...)
	return compiled.Program(t, map[string]string{"deep.c": deepSource}, command...)
}

// DeepStacks returns the sums of a column over the rows of the program of Deep: of the rows with whole stacks,
// and of those with cut stacks. It fails the test if the program never has such a whole stack.
func DeepStacks(t *testing.T, p *profile.Profile, column int) (whole, cut uint64) {
	t.Helper()
	for _, row := range p.Rows {
		if row.User == profile.None || p.Processes[row.Process].Comm != "deep" {
			continue
		}
		names := Chain(p, row.User)
		switch isChain, deep := CheckDeep(names); {
		case p.Stacks[row.User].Truncated:
			cut += row.Values[column]
		case !isChain:
			t.Errorf("%d of %s have the chain %s, which there is not", row.Values[column], p.Metrics[column].Name, summary(names))
		case deep:
			whole += row.Values[column]
		}
	}
	return whole, cut
}

// Chain returns the names of the stack with this id, the outermost first.
func Chain(p *profile.Profile, id int) (names []string) {
	for _, f := range p.Stacks[id].Frames {
		names = append(names, p.Frames[f].Name)
	}
	return names
}

// CheckDeep checks a chain, the outermost function first. ok reports whether testdata/deep.c has such a chain,
// and deep whether it contains the start of a recursion.
func CheckDeep(names []string) (ok, deep bool) {
	depths := []int{5000, 3000, 1500, 200}
	at := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "tree") })
	if at < 0 {
		return !slices.ContainsFunc(names, func(name string) bool {
			return name == "a" || name == "b" || name == "c" || strings.HasPrefix(name, "work")
		}), false
	}
	tree, err := strconv.Atoi(names[at][len("tree"):])
	if err != nil {
		return false, false
	}
	level := 0
	names = names[at+1:]
	for level < len(names) && len(names[level]) == 1 {
		if names[level] != string("abc"[uint32(level*4+tree)*2654435761>>16%3]) {
			return false, true
		}
		level++
	}
	if level == len(names) {
		return level <= depths[0], true // sampled on its way down
	}
	work, isWork := strings.CutPrefix(names[level], "work")
	n, err := strconv.Atoi(work)
	return isWork && err == nil && n < len(depths) && level == depths[n], true
}

// summary returns a chain with the number of levels in place of their names.
func summary(names []string) string {
	var b strings.Builder
	for i := 0; i < len(names); {
		n := i
		for n < len(names) && len(names[n]) == 1 {
			n++
		}
		if n > i {
			fmt.Fprintf(&b, " … %d levels …", n-i)
			i = n
			continue
		}
		fmt.Fprint(&b, " ", names[i])
		i++
	}
	return b.String()
}
