package ftrace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// kernelFetchTable are arguments of kernel probes, right and wrong, beside those
// that all probes have. kernelPlace is also a symbol that every kernel finds.
var kernelFetchTable = []string{
	"@vfs_read", "@vfs_read+8", "@vfs_read-8:u8", "@vfs_read+0x10:u8[4]", "@vfs_read+", "@vfs_read+-8", "@vfs_read++8", "@vfs_read+8x", "@vfs_read-0x8", "@vfs_read:string",
	"+0(@vfs_read)", "+8(+0(@vfs_read)):string", "+u0(@vfs_read)", "@vfs_read:symstr", "@vfs_read:symbol", "@vfs_read:b1@0/8",
	"%di:symbol[2]", "+0(%di):symbol[2]", "+u0(%di):symbol", "+u0(%di):symstr", "$retval:symstr", "$stack:symstr", "$stack3:symstr", "$comm:symstr", `\5:symstr`, `\"a":symstr`,
	"+0(%di):symstr[2]", "$arg1", "$arg1:u8", "$arg3:string", "+0($arg2):string", "+0($arg2):ustring", "$arg0", "$arg", "$arg01", "$arg6", "$arg2048", "$arg2049",
	"$stack2048", "$stack2049", "%di:symbol:u8", "%sp:symbol",
	strings.Repeat("+0(", 12) + "@vfs_read" + strings.Repeat(")", 12), nested(13, ":symstr"), nested(12, ":symstr"), nested(14, ":symbol"),
}

const kernelPlace = "vfs_read"

// withKprobes returns the tracefs of a kernel that has kprobe_events.
func withKprobes(t testing.TB) *FS {
	t.Helper()
	tracefs := withUprobes(t)
	if !tracefs.Has("kprobe_events") {
		t.Skip("kprobe_events: the kernel is built without CONFIG_KPROBE_EVENTS")
	}
	return tracefs
}

// kernelProbeTakes asks the kernel for a kernel probe with these arguments.
func kernelProbeTakes(t testing.TB, group *Group, kind byte, args string) error {
	t.Helper()
	err := group.fs.appendLine(group.file, string(kind)+":"+group.Name()+"/probe "+kernelPlace+" "+args)
	if err == nil {
		if err := group.fs.removeEvent(group.file, group.Name(), "probe", closePatience); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

// isLater reports whether Linux 6.12 takes what 6.1 and ringtap refuse: parameters where
// the function returns, names of files, and text behind a parameter that the kernel's
// type information has as a pointer.
func isLater(kind byte, text string) bool {
	return kind == 'r' && strings.Contains(text, "$arg") || strings.Contains(text, ":%p") || strings.HasPrefix(text, "$arg") && strings.HasSuffix(text, ":string")
}

// compareKernelArgs asks ringtap and the kernel whether arguments are right.
func compareKernelArgs(t *testing.T, group *Group, kind byte, text string) (taken bool) {
	t.Helper()
	text = here(text)
	args, err := ParseKernelArgs(text)
	if err == nil {
		args, _, err = KernelArgs(args, runtime.GOARCH, kind == 'r')
	}
	if err != nil {
		if kernelProbeTakes(t, group, kind, text) == nil && !isDeliberate(text) && !isLater(kind, text) && !isLinux7(t, text, nil) {
			t.Errorf("%c: the kernel takes %q, ringtap does not: %v", kind, text, err)
		}
		return false
	}
	var words []string
	for _, arg := range args {
		if name := arg.Symbol(); name != "" && name != kernelPlace {
			return false // whether there is one is not the grammar's matter
		}
		words = append(words, arg.String())
	}
	if err := kernelProbeTakes(t, group, kind, strings.Join(words, " ")); err != nil && !isLinux7(t, text, err) {
		t.Errorf("%c: ringtap makes %q of %q, the kernel does not take it: %v", kind, words, text, err)
	}
	return true
}

// withKernelGrammar skips the test on kernels that lack some of the types, and
// leaves those out of the table that came later than symstr.
func withKernelGrammar(t *testing.T) (tracefs *FS, unknown func(text string) bool) {
	tracefs = withKprobes(t)
	readme, err := os.ReadFile(filepath.Join(tracefs.Dir(), "README"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "symstr") {
		t.Skip("fetch arguments as of Linux 6.3: this kernel's are older")
	}
	noChar := !strings.Contains(string(readme), "char,")
	return tracefs, func(text string) bool {
		// BTF arguments of 6.5 and later make more of a name than an error.
		return noChar && strings.Contains(text, ":char")
	}
}

func TestLiveTheKernelTakesTheSameKernelArgs(t *testing.T) {
	tracefs, unknown := withKernelGrammar(t)
	group := newGroup(t, tracefs, "kprobe_events")
	taken := 0
	for i, text := range slices.Concat(kernelFetchTable, fetchTable) {
		for n, kind := range []byte("pr") {
			if testlimit.Case(i+n, 2) && !unknown(text) && compareKernelArgs(t, group, kind, text) {
				taken++
			}
		}
	}
	t.Logf("%d taken", taken)
	if taken < 100 {
		t.Errorf("%d of the arguments were right", taken)
	}
}

func TestLiveTheKernelTakesTheSameGeneratedKernelArgs(t *testing.T) {
	const n = 400
	tracefs, _ := withKernelGrammar(t)
	group := newGroup(t, tracefs, "kprobe_events")
	random := rand.New(rand.NewPCG(3, 4))
	taken := 0
	for range n {
		text := generateArg(random)
		if random.IntN(4) == 0 {
			text = strings.NewReplacer("@+", "@vfs_read+", "%di", "@vfs_read", ":u8", ":symbol", ":string", ":symstr").Replace(text)
		}
		if compareKernelArgs(t, group, 'p', text) {
			taken++
		}
	}
	if taken < n/10 || taken > n*9/10 {
		t.Errorf("%d of %d are right: the generator is lopsided", taken, n)
	}
}

// systemCall is the function of a system call.
func systemCall(name string) string {
	if runtime.GOARCH == "arm64" {
		return "__arm64_sys_" + name
	}
	return "__x64_sys_" + name
}

func TestLiveHitsOfKernelProbesAreCounted(t *testing.T) {
	tracefs := withKprobes(t)
	group := newGroup(t, tracefs, "kprobe_events")
	// The hits are those of all processes: nobody else makes these calls.
	never, rare := systemCall("reboot"), systemCall("sched_rr_get_interval")
	for _, d := range []Dynamic{
		{Type: 'p', Event: "never", Place: never},
		{Type: 'p', Event: "calls", Place: rare},
		{Type: 'r', Event: "returns", Place: rare, Args: "$retval", MaxActive: 20},
	} {
		if _, err := group.Define(d); err != nil {
			t.Fatal(err)
		}
		enable := filepath.Join(tracefs.Dir(), "events", group.Name(), d.Event, "enable")
		if err := os.WriteFile(enable, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(enable, []byte("0"), 0); err != nil {
				t.Error(err)
			}
		})
	}
	const calls = 1234
	for range calls {
		var interval unix.Timespec
		unix.Syscall(unix.SYS_SCHED_RR_GET_INTERVAL, 0, uintptr(unsafe.Pointer(&interval)), 0)
	}
	hits, err := group.Hits()
	if want := []uint64{0, calls, calls}; err != nil || !slices.Equal(hits, want) {
		t.Errorf("hits %v, %v; want %v", hits, err, want)
	}
	missed, err := group.Missed()
	if want := []uint64{0, 0, 0}; err != nil || !slices.Equal(missed, want) {
		t.Errorf("missed %v, %v; want %v", missed, err, want)
	}
	text, err := os.ReadFile(filepath.Join(tracefs.Dir(), "kprobe_events"))
	if err != nil || !strings.Contains(string(text), fmt.Sprintf("r20:%s/returns %s arg1=$retval\n", group.Name(), rare)) {
		t.Errorf("kprobe_events has %s, %v", text, err)
	}
}
