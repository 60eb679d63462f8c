package session

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/scripts"
)

// The program reads at the return what the entry's pointers led to: a name that the function
// does not change, and a struct of the kernel, which it may.
func TestLivePointersOfKernelFunctions(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: kprobes")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	if !tracefs.Has("kprobe_events") {
		t.Skip("kprobe_events: the kernel is built without CONFIG_KPROBE_EVENTS")
	}
	out, _ := watchedBy(t, scripts.Program{Name: "pointers", Text: `struct filename { const char *name; };
kprobe:do_filp_open { @f[tid] = (struct filename *)arg1; }
kretprobe:do_filp_open /@f[tid]/ { printf("name %s\n", str(((struct filename *)@f[tid])->name)); delete(@f[tid]); }
kprobe:do_sys_openat2 { @p[tid] = arg1; }
kretprobe:do_sys_openat2 /@p[tid]/ { printf("path %s\n", str(@p[tid])); delete(@p[tid]); }
`}, nil)
	for i := range known {
		path := fmt.Sprintf("/nonexistent/of-the-tests-of-shipped-programs/%d\n", i)
		for _, line := range []string{"name ~" + path, "path " + path} {
			if n := strings.Count(out, line); n != 1 {
				t.Errorf("%d lines %q", n, line)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}
