package uprobe

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// goTexts calls greet with the beginnings of a longer text.
const goTexts = `package main

type order struct {
	id   int
	name string
}

//go:noinline
func greet(name string, tags []string, o *order) int { return len(name) + len(tags) + len(o.name) }

func main() {
	long := string([]byte{'w', 'i', 'd', 'g', 'e', 't', 's'})
	s := 0
	for i := 0; i < 3; i++ {
		s += greet(long[:3*i], make([]string, i, 9), &order{i, long[i:6]})
	}
	println(s)
}
`

func TestLiveATextOfGoEndsWhereItsLengthSays(t *testing.T) {
	r := compiled.Recipe{Sources: map[string]string{"texts.go": goTexts}, Env: []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"}}
	r.Commands = [][]string{{"go", "build", "-o", "texts", "texts.go"}}
	program := compiled.Copy(t, filepath.Join(r.Dir(t), "texts"))
	for definition, want := range map[string][]string{
		"p:{}:main.greet name tags.len tags.cap": {
			`name="" name_len=0 len=0 cap=9`, `name="wid" name_len=3 len=1 cap=9`, `name="widget" name_len=6 len=2 cap=9`},
		"p:{}:main.greet name.len called=o->name o->id name": {
			`len=0 called="widget" called_len=6 id=0 name="" name_len=0`,
			`len=3 called="idget" called_len=5 id=1 name="wid" name_len=3`,
			`len=6 called="dget" called_len=4 id=2 name="widget" name_len=6`},
	} {
		p := resolve(t, replaceTarget(definition, program), Options{})
		if diff := cmp.Diff(want, texts(trace(t, p, AttachOptions{}, program))); diff != "" {
			t.Errorf("%s (%q):\n%s", definition, p.Notes, diff)
		}
	}
}
