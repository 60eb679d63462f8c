package uprobe

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// lineOf is the number of the line of a file of testdata that has a text.
func lineOf(t *testing.T, file, text string) int {
	t.Helper()
	source, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		if strings.Contains(line, text) {
			return i + 1
		}
	}
	t.Fatalf("%s has no %q", file, text)
	return 0
}

// The programs make structs of numbers that follow from i = 0, 1, 2.
func TestLiveMembersHaveTheValuesOfTheProgram(t *testing.T) {
	if testlimit.Emulated() {
		t.Skip("what differs between machines is in the files")
	}
	for _, build := range []struct{ name, command string }{
		{"C", "gcc -g -O0 -o prog members.c"},
		{"C, DWARF 4", "gcc -g -gdwarf-4 -O0 -o prog members.c"},
		{"C, DWARF 2", "gcc -g -gdwarf-2 -gstrict-dwarf -O0 -o prog members.c"},
		{"C, optimized", "gcc -g -O2 -fno-ipa-modref -fno-ipa-sra -o prog members.c"},
		{"C, position dependent, optimized", "gcc -g -O1 -no-pie -fno-ipa-modref -fno-ipa-sra -o prog members.c"},
		{"C, frame pointers", "gcc -g -O2 -fno-ipa-modref -fno-ipa-sra -fno-omit-frame-pointer -o prog members.c"},
	} {
		program := compiled.Copy(t, compiled.Program(t, compiled.Sources(t, "testdata/members.c"), strings.Fields(build.command)...))
		for definition, want := range map[string][]string{
			"p:{}:handle r->id r->name r->p.x r->p.y k r->next->name next=r->next->id by.x": {
				`id=1 name="even" x=0 y=0 k=7 name_2="last" next=99 x_2=0`,
				`id=2 name="odd" x=3 y=-1 k=8 name_2="last" next=99 x_2=3`,
				`id=3 name="even" x=6 y=-2 k=9 name_2="last" next=99 x_2=6`,
			},
			"p:{}:handle r->tag r->v r->v[2] r->a r->b r->c r->d r->col r->u1 r->u2:x8 r->arr[2].y r->flag": {
				`tag="tag0" v={1,2,0,-4} v_2=0 a=0 b=100 c=1000 d=0 col=-2 u1=5000 u2=0x88 y=70 flag=200`,
				`tag="tag1" v={1,2,1,-4} v_2=1 a=1 b=101 c=1001 d=1 col=1 u1=5001 u2=0x89 y=71 flag=201`,
				`tag="tag2" v={1,2,2,-4} v_2=2 a=2 b=102 c=1002 d=2 col=-2 u1=5002 u2=0x8a y=72 flag=202`,
			},
			"p:{}:handle counter global_n": {"counter=0 global_n=40", "counter=21 global_n=52", "counter=47 global_n=66"},
		} {
			p := resolve(t, replaceTarget(definition, program), Options{})
			if diff := cmp.Diff(want, texts(trace(t, p, AttachOptions{}, program))); diff != "" {
				t.Errorf("%s: %s (%q):\n%s", build.name, p, p.Notes, diff)
			}
		}
	}
	program := compiled.Copy(t, compiled.Program(t, compiled.Sources(t, "testdata/members.cc"), "g++", "-g", "-O1", "-fno-ipa-modref", "-fno-ipa-sra", "-o", "prog", "members.cc"))
	p := resolve(t, "p:"+program+":ns::Worker::run this->id this->label this->head.v this->kind this->head.next->v this->ref.v n.v *out this->on this->c", Options{})
	if diff := cmp.Diff([]string{
		`id=0 label="worker" v=0 kind=4 v_2=78 v_3=78 v_4=78 out=5 on=0 c=97`,
		`id=1 label="worker" v=2 kind=4 v_2=79 v_3=79 v_4=79 out=83 on=1 c=98`,
		`id=2 label="worker" v=4 kind=4 v_2=80 v_3=80 v_4=80 out=163 on=0 c=99`,
	}, texts(trace(t, p, AttachOptions{}, program))); diff != "" {
		t.Errorf("C++: %s (%q):\n%s", p, p.Notes, diff)
	}
}

func TestLiveLocalsHaveTheirValuesAtALine(t *testing.T) {
	if testlimit.Emulated() {
		t.Skip("what differs between machines is in the files")
	}
	line := lineOf(t, "members.c", "LINE A")
	for _, flags := range []string{"-O0", "-Og", "-O0 -gdwarf-4", "-O0 -fno-asynchronous-unwind-tables", "-O0 -fomit-frame-pointer"} {
		command := append(append([]string{"gcc", "-g"}, strings.Fields(flags)...), "-o", "prog", "members.c")
		program := compiled.Copy(t, compiled.Program(t, compiled.Sources(t, "testdata/members.c"), command...))
		p := resolve(t, fmt.Sprintf("p:%s:members.c:%d msec inner r->id", program, line), Options{})
		want := []string{
			"msec=12 inner=12 id=2", "msec=12 inner=2 id=2", "msec=15 inner=13 id=3", "msec=15 inner=3 id=3",
			"msec=9 inner=1 id=1", "msec=9 inner=11 id=1",
		}
		if diff := cmp.Diff(want, texts(trace(t, p, AttachOptions{}, program))); diff != "" {
			t.Errorf("%s: %s (%q):\n%s", flags, p, p.Notes, diff)
		}
	}
}

func TestAWrongPathIsRefusedWhereItIsWrong(t *testing.T) {
	program := compiled.Program(t, compiled.Sources(t, "testdata/members.c"), "gcc", "-g", "-O0", "-o", "prog", "members.c")
	optimized := compiled.Program(t, compiled.Sources(t, "testdata/members.c"), "gcc", "-g", "-O2", "-o", "prog", "members.c")
	line := lineOf(t, "members.c", "LINE B")
	for _, test := range []struct{ definition, want string }{
		{"p:" + program + ":handle r->nam", "struct req has no member nam; did you mean name"},
		{"p:" + program + ":handle r.id", "r is a pointer: r->id"},
		{"p:" + program + ":handle by->x", "by is no pointer, but struct pos"},
		{"p:" + program + ":handle r->p", "p is struct pos: name a member of it, of x, y"},
		{"p:" + program + ":handle r->v[4]", "v has 4 elements, [0] to [3]"},
		{"p:" + program + ":handle k->x", "k is no pointer, but int"},
		{"p:" + program + ":handle r->id+1", "members (-> and .), elements ([1]) and * are all"},
		{"p:" + program + ":handle r->id:string", "it is int, and no text"},
		{"p:" + program + ":handle r->b:u8", "it is a bitfield"},
		{fmt.Sprintf("p:%s:members.c:%d mse", program, line), "no variable mse is visible here; did you mean msec"},
		{fmt.Sprintf("p:%s:members.c:%d $args", program, line), "name variables one by one"},
		{fmt.Sprintf("p:%s:members.c:%d msec", optimized, line), "optimized out"},
		{"r:" + program + ":handle r->id", "gone when the function returns"},
	} {
		d, err := Parse(test.definition)
		if err == nil {
			_, err = Resolve(d, Options{})
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.definition, err, test.want)
		}
	}
}
