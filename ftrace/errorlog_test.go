package ftrace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// logText is the file error_log of Linux 6.18 after four mistakes.
const logText = `[ 1297.432834] trace_uprobe: error: Invalid register name
  Command: p:g/x /usr/bin/true:0x1000 a=%dix
                                        ^
[ 1297.436851] trace_uprobe: error: Dereference brace is not closed
  Command: p:g/x /usr/bin/true:0x1000 foo=+0(%di
                                                ^
[ 1298.000000] event filter parse error: error: Field not found
  Command: foo == 1
               ^
[ 1300.000000] trace_uprobe: error: Event name is too long
  Command: p:g/x /usr/bin/true:0x1000 a=%dix
             ^
`

func TestTheLatestErrorAboutACommandIsFound(t *testing.T) {
	for _, test := range []struct {
		name, command, message string
		pos                    int
		ok                     bool
	}{
		{"the latest of two", "p:g/x /usr/bin/true:0x1000 a=%dix", "Event name is too long", 2, true},
		{"at the command's end", "p:g/x /usr/bin/true:0x1000 foo=+0(%di", "Dereference brace is not closed", 37, true},
		{"another part of the kernel", "foo == 1", "Field not found", 4, true},
		{"the end of another command", "=%dix", "", 0, false},
		{"the start of another command", "p:g/x /usr/bin/true:0x1000", "", 0, false},
		{"nothing about it", "p:g/y /bin/true:0x10", "", 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			entry, ok := findError(logText, test.command)
			if ok != test.ok || entry.message != test.message || entry.pos != test.pos {
				t.Errorf("%+v, %t; want %q at %d, %t", entry, ok, test.message, test.pos, test.ok)
			}
		})
	}
}

func TestADefinitionErrorPointsAtTheCharacter(t *testing.T) {
	for _, test := range []struct {
		name string
		err  DefinitionError
		want string
	}{
		{"in the middle", DefinitionError{Command: "p:g/x /bin/true:0x10 %dix", Pos: 21, Message: "Invalid register name"},
			"Invalid register name\n  p:g/x /bin/true:0x10 %dix\n                       ^"},
		{"nowhere", DefinitionError{Command: "p:g/x /bin/true:0x10", Pos: -1, Message: "No"}, "No\n  p:g/x /bin/true:0x10"},
		{"after letters of several bytes", DefinitionError{Command: "p:g/x /tmp/π:0x10 %x", Pos: 19, Message: "No"},
			"No\n  p:g/x /tmp/π:0x10 %x\n                    ^"},
		{"after what would disturb a terminal", DefinitionError{Command: "/\x1b[m\n\xff %x", Pos: 7, Message: "No"},
			"No\n  /\\x1b[m\\n\\xff %x\n                ^"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.err.Error(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestAnErrorShowsNoMoreThanALineOfALongCommand(t *testing.T) {
	long := strings.Repeat("π", 5000)
	for _, pos := range []int{-1, 0, 1, 3, 5000, 9999, 10000} {
		text := (&DefinitionError{Command: long, Pos: pos}).Error()
		if len(text) > 1000 {
			t.Errorf("with a mistake at %d the error has %d bytes", pos, len(text))
		}
		if strings.Contains(text, `\x`) {
			t.Errorf("with a mistake at %d a letter was cut: %s", pos, text)
		}
	}
}

func TestLiveARefusedDefinitionSaysWhere(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	good := Dynamic{Type: 'p', Event: "good", Place: place, Args: here("a=%di")}
	if _, err := group.Define(good); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		d    Dynamic
		at   string // the command from the caret on
	}{
		{"no such file", Dynamic{Type: 'p', Event: "e", Place: "/no/such/file:0x10"}, "/no/such/file:0x10"},
		{"a directory", Dynamic{Type: 'p', Event: "e", Place: "/usr:0x10"}, "/usr:0x10"},
		{"no offset", Dynamic{Type: 'p', Event: "e", Place: "/bin/true:0xzz"}, "0xzz"},
		{"an unknown register", Dynamic{Type: 'p', Event: "e", Place: place, Args: here("x=%di  name=+0(%dix):string")}, here("%dix):string")},
		{"an unknown type", Dynamic{Type: 'p', Event: "e", Place: place, Args: here("x=%di:u33")}, "u33"},
		{"an open parenthesis", Dynamic{Type: 'p', Event: "e", Place: place, Args: here("+0(%di")}, ""},
		{"a name that is taken", Dynamic{Type: 'p', Event: "e", Place: place, Args: here("%di arg1=%si")}, here("arg1=%si")},
		{"a return value at the entry", Dynamic{Type: 'p', Event: "e", Place: place, Args: "x=$retval"}, "$retval"},
		{"an event's name with a space", Dynamic{Type: 'p', Event: "e f", Place: place}, "e f " + place},
		{"an event's name that is too long", Dynamic{Type: 'p', Event: strings.Repeat("e", 64), Place: place}, strings.Repeat("e", 64) + " " + place},
		{"an event's name of 10000 characters", Dynamic{Type: 'p', Event: strings.Repeat("e", 10000), Place: place}, strings.Repeat("e", 10000-4094+len(group.Name())+3) + " " + place},
		{"a second command", Dynamic{Type: 'p', Event: "e", Place: place + "\n-:" + group.Name() + "/good"}, "\n-:" + group.Name() + "/good"},
		{"a comment", Dynamic{Type: 'p', Event: "e", Place: "/tmp/a#b:0x10"}, "#b:0x10"},
		{"a letter that the kernel splits", Dynamic{Type: 'p', Event: "e", Place: "/tmp/à:0x10"}, "\xa0:0x10"},
		{"a comment in an argument", Dynamic{Type: 'p', Event: "e", Place: place, Args: here(`a=%di b=\"x#y"`)}, `#y"`},
		{"no type of probe", Dynamic{Type: 'e', Event: "e", Place: place}, "e:" + group.Name() + "/e " + place},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := group.Define(test.d)
			e, ok := err.(*DefinitionError)
			if !ok {
				t.Fatalf("the error is %v; want a DefinitionError", err)
			}
			if e.Pos < 0 || e.Command[e.Pos:] != test.at {
				t.Errorf("%v\nwant the caret at %q", e, test.at)
			}
			if e.Message == "" || e.Err == nil {
				t.Errorf("message %q, errno %v; want both", e.Message, e.Err)
			}
		})
	}
	if left := definitions(t, tracefs, func(g string) bool { return g == group.Name() }); len(left) != 1 {
		t.Errorf("the group has %q; want the good event only", left)
	}
}

func TestLiveTheLongestLineThatTheKernelReadsIsTaken(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	d := Dynamic{Type: 'p', Event: "e", Place: place}
	const constant = 60 // characters of text, with \" and " 63
	for n := 0; len(d.line(group.Name())) < maxLine-2*constant; n++ {
		d.Args += fmt.Sprintf(` a%d=\"%s"`, n, strings.Repeat("x", constant))
	}
	d.Args += ` b=\"`
	d.Args += strings.Repeat("x", min(constant, maxLine-1-len(d.line(group.Name())))) + `"`
	if rest := maxLine - len(d.line(group.Name())); rest > 0 {
		d.Place = strings.Replace(place, ":0x", ":0x"+strings.Repeat("0", rest), 1)
	}
	if n := len(d.line(group.Name())); n != maxLine {
		t.Fatalf("the line has %d characters", n)
	}
	if _, err := group.Define(d); err != nil {
		t.Error(err)
	}
	d.Event = "ee"
	if err := tracefs.appendLine("uprobe_events", d.line(group.Name())); err == nil {
		t.Error("the kernel reads a longer line")
		tracefs.removeEvent("uprobe_events", group.Name(), "ee", closePatience)
	}
}

func TestLivePathsThatAreSpellableAreRead(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	for i := 1; i < 256; i++ {
		c := string([]byte{byte(i)})
		if c == "/" {
			continue
		}
		path := filepath.Join(t.TempDir(), "a"+c+"b")
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		// As if Define did not look at it: what does the kernel do?
		event := fmt.Sprintf("e%d", i)
		err := tracefs.appendLine("uprobe_events", "p:"+group.Name()+"/"+event+" "+path+":0x10")
		if err == nil {
			if err := tracefs.removeEvent("uprobe_events", group.Name(), event, closePatience); err != nil {
				t.Fatal(err)
			}
		}
		if Spellable(path) != (err == nil) {
			t.Errorf("a path with byte %#x: Spellable says %t, the kernel %v", i, Spellable(path), err)
		}
	}
}

func TestLiveErrorsOfManyWritersAreNotMixedUp(t *testing.T) {
	tracefs := withUprobes(t)
	group := newGroup(t, tracefs, "uprobe_events")
	var wg sync.WaitGroup
	for i := range 16 { // the kernel's log holds eight errors
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := range 20 {
				event := fmt.Sprintf("e%d_%d", i, n)
				line := fmt.Sprintf("p:%s/%s %s %%no%d", group.Name(), event, place, i)
				err := tracefs.define("uprobe_events", line)
				e, ok := err.(*DefinitionError)
				if !ok || e.Command != line || e.Pos >= 0 && (e.Command[e.Pos:] != fmt.Sprintf("%%no%d", i) || e.Message != "Invalid register name") {
					t.Errorf("the error about %q is %v", line, err)
				}
				if ok && e.Pos < 0 {
					t.Logf("of %q the kernel's reason was lost", line)
				}
			}
		}()
	}
	wg.Wait()
}

func FuzzFindError(f *testing.F) {
	f.Add(logText, "foo == 1")
	f.Add("\n  Command: \n           ^\n", "")
	f.Add("[ 1.0] a: error: b\n  Command: x\ny\n             ^\n", "x\ny")
	f.Fuzz(func(t *testing.T, log, command string) {
		entry, ok := findError(log, command)
		if !ok {
			return
		}
		if entry.pos < 0 || entry.pos > len(command) || !strings.Contains(log, entry.message) || !strings.Contains(log, command) {
			t.Errorf("found %+v about %q", entry, command)
		}
		e := DefinitionError{Command: command, Pos: entry.pos, Message: "m"}
		if lines := strings.Split(e.Error(), "\n"); len(lines) != 3 {
			t.Errorf("the error has %d lines: %q", len(lines), e.Error())
		}
	})
}
