package session

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/kcore"
)

// needKernelMemory skips a test where probes of ringtap's own can't read what it asks for.
func needKernelMemory(t *testing.T) {
	t.Helper()
	r, err := kcore.Open("/proc/kcore")
	if errors.Is(err, kcore.ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	symbols, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(symbols, []byte(" avenrun\n")) {
		t.Skip("no variables in /proc/kallsyms (CONFIG_KALLSYMS_ALL)")
	}
}

func TestLiveProbesOfRingtapReadTheKernelsMemory(t *testing.T) {
	needKernelMemory(t)
	var names unix.Utsname
	if err := unix.Uname(&names); err != nil {
		t.Fatal(err)
	}
	release := unix.ByteSliceToString(names.Release[:])
	banner, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	const task = `$t = (struct task_struct *)kaddr("init_task"); `
	for _, test := range []struct{ name, body, want string }{
		{"a text", `printf("%s", str(kaddr("linux_banner"), 20));`, string(banner[:20])},
		{"bytes", `printf("%r", buf(kaddr("linux_banner"), 5));`, string(banner[:5])},
		{"a member that is an array", `printf("%s", ((struct uts_namespace *)kaddr("init_uts_ns"))->name.release);`, release},
		{"what a pointer in memory leads to", task + `printf("%s", $t->group_leader->comm);`, "swapper/0"},
		{"a whole struct", task + `$g = *$t->group_leader; printf("%d %s", $g.pid, $g.comm);`, "0 swapper/0"},
		{"the thread itself", `printf("%d %d", curtask.tgid, curtask.group_leader == curtask);`, fmt.Sprintf("%d 1", os.Getpid())},
		{"at an address that a loop computes", task + `$i = 0; while ($i < 3) { $t = $t->group_leader; $i++; } printf("%s", $t->comm);`, "swapper/0"},
		{"a text at an address of a map", `@p = kaddr("linux_banner"); printf("%s", str(@p, 20)); clear(@p);`, string(banner[:20])},
		{"where nothing is", `printf("%d", *(uint64 *)0x8000000000000000);`, "0"},
		{"behind what is nowhere", `printf("%d", **(uint64 *)0x8000000000000000);`, "0"},
	} {
		for _, probe := range []string{"begin", "interval:ms:1", "end"} {
			t.Run(test.name+" at "+probe, func(t *testing.T) {
				text := probe + " { " + test.body + " exit(); }"
				if probe == "end" {
					text = "begin { exit(); } " + text
				}
				var out, stderr bytes.Buffer
				if _, err := Run(t.Context(), Options{Text: text, Quiet: true, Bare: true, Stdout: &out, Stderr: &stderr}); err != nil {
					t.Fatalf("%v\n%s", err, &stderr)
				}
				if got := strings.Trim(out.String(), "\n"); got != test.want || stderr.Len() > 0 {
					t.Errorf("%q, want %q\n%s", got, test.want, &stderr)
				}
			})
		}
	}
}

// The kernel changes the load averages every five seconds, and shows them with two digits.
func TestLiveLoadAveragesAreThoseOfTheKernel(t *testing.T) {
	needKernelMemory(t)
	const text = `BEGIN { $a = kaddr("avenrun"); printf("%d %d %d\n", *$a, *($a + 8), *($a + 16)); }`
	for {
		before := loadAverages(t)
		var out, stderr bytes.Buffer
		if _, err := Run(t.Context(), Options{Text: text, Quiet: true, Bare: true, Stdout: &out, Stderr: &stderr}); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		if loadAverages(t) != before {
			continue
		}
		var averages [3]uint64
		if _, err := fmt.Sscan(out.String(), &averages[0], &averages[1], &averages[2]); err != nil {
			t.Fatalf("%v: %q\n%s", err, &out, &stderr)
		}
		var shown []string
		for _, a := range averages {
			const one = 1 << 11
			a += one / 200 // half of the last digit (fs/proc/loadavg.c)
			shown = append(shown, fmt.Sprintf("%d.%02d", a/one, a%one*100/one))
		}
		if got := strings.Join(shown, " "); got != before {
			t.Errorf("%s, /proc/loadavg says %s", got, before)
		}
		return
	}
}

// loadAverages are those of /proc/loadavg.
func loadAverages(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

// A kprobe fetches it, and at a tracepoint an event probe.
func TestLiveVariablesOfTheKernelAreReadAtHits(t *testing.T) {
	needKprobes(t)
	needKernelMemory(t)
	needEventProbes(t)
	banner, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	word := binary.NativeEndian.Uint64(banner)
	const what = `{ printf("%s %llu %s\n", str(kaddr("linux_banner"), 20), *kaddr("linux_banner"), ((struct task_struct *)kaddr("init_task"))->group_leader->comm); }`
	for _, probe := range []string{"kprobe:vfs_readlink", "tracepoint:sched:sched_process_exit"} {
		out, stderr := besides(t, probe+" "+what, func() { _ = exec.Command("readlink", "/proc/self/exe").Run() })
		if want := fmt.Sprintf("\n%s %d swapper/0\n", banner[:20], word); !strings.Contains(out, want) && unprobed(stderr) == 0 {
			t.Errorf("%s: no line %q\n%s%s", probe, want, out, stderr)
		}
	}
}

func TestProbesOfRingtapSayWhyTheyReadNoMemory(t *testing.T) {
	if _, err := os.Stat("/proc/kcore"); err == nil {
		t.Skip("this kernel has /proc/kcore")
	}
	var out, stderr bytes.Buffer
	code, err := Run(t.Context(), Options{Text: "begin { @ = 1 }\ninterval:s:1 { $p = (uint64 *)0xffffffff81000000; print(*$p) }", Stdout: &out, Stderr: &stderr})
	if err != nil || code != 1 {
		t.Errorf("exit code %d, %v", code, err)
	}
	for _, want := range []string{"stdin:2:", "the memory at 0xffffffff81000000 is read by probes of the kernel only", "this kernel has no /proc/kcore"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("not %q, but\n%s", want, &stderr)
		}
	}
	if out.Len() > 0 {
		t.Errorf("printed: %q", &out)
	}
}
