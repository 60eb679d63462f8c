package facility

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/symbols"
)

// hostOf makes a host of files, given as name and text.
func hostOf(t *testing.T, files map[string]string) *host {
	t.Helper()
	h := &host{root: t.TempDir()}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(h.path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(h.path(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.tracing = ftrace.At(h.path("tracing"))
	return h
}

func TestCgroupsNeedTheControllerAndAMountedHierarchy(t *testing.T) {
	const (
		heading = "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
		v2Mount = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
		v1Mount = "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\ncgroup /sys/fs/cgroup/perf_event cgroup rw,perf_event 0 0\n"
	)
	for _, test := range []struct {
		name, cgroups, mounts string
		want                  bool
	}{
		{"version 2", "perf_event\t0\t80\t1\n", v2Mount, true},
		{"version 1", "perf_event\t7\t1\t1\n", v1Mount, true},
		{"taken by a version 1 hierarchy that is not mounted here", "perf_event\t7\t1\t1\n", v2Mount, false},
		{"nothing mounted", "perf_event\t0\t80\t1\n", "proc /proc proc rw 0 0\n", false},
		{"disabled on the command line", "perf_event\t0\t80\t0\n", v2Mount, false},
		{"a kernel without the controller", "cpuset\t0\t80\t1\n", v2Mount, false},
		{"lines of another form", "perf_event\n\n", v2Mount, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := hostOf(t, map[string]string{"proc/cgroups": heading + test.cgroups, "proc/self/mounts": test.mounts})
			if err := h.cgroups(); (err == nil) != test.want {
				t.Errorf("cgroups() = %v, want present: %t", err, test.want)
			}
		})
	}
	if err := hostOf(t, nil).cgroups(); !errors.Is(err, errAbsent) {
		t.Errorf("without /proc/cgroups: %v, want %v", err, errAbsent)
	}
}

func TestKallsymsServesOnlyWithItsAddresses(t *testing.T) {
	shown := hostOf(t, map[string]string{"proc/kallsyms": "ffffffff81000000 T startup_64\nffffffff81000"})
	if err := shown.kallsyms(); err != nil {
		t.Errorf("with addresses: %v", err)
	}
	hidden := hostOf(t, map[string]string{"proc/kallsyms": "0000000000000000 T startup_64\n"})
	if err := hidden.kallsyms(); !errors.Is(err, symbols.ErrAddressesHidden) {
		t.Errorf("without: %v, want %v", err, symbols.ErrAddressesHidden)
	}
}

func TestSyscallStringsAreSeenInTheFormat(t *testing.T) {
	const (
		file  = "tracing/events/syscalls/sys_enter_openat/format"
		plain = "\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;\n"
		text  = plain + "\tfield:__data_loc char[] __filename_val;\toffset:48;\tsize:4;\tsigned:0;\n"
	)
	for format, want := range map[string]error{plain: errAbsent, text: nil} {
		if err := hostOf(t, map[string]string{file: format}).syscallStrings(); err != want {
			t.Errorf("format %q: %v, want %v", format, err, want)
		}
	}
	untraced := &host{tracingErr: ftrace.ErrNotMounted}
	if err := untraced.syscallStrings(); !errors.Is(err, ftrace.ErrNotMounted) {
		t.Errorf("without tracefs: %v", err)
	}
}

func TestATracerIsThereIfItsFunctionsMayBeChosen(t *testing.T) {
	const tracers, functions = "tracing/available_tracers", "tracing/available_filter_functions"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  error
	}{
		{"there", map[string]string{tracers: "blk function nop\n", functions: "vfs_read\n"}, nil},
		{"another", map[string]string{tracers: "blk nop\n", functions: "vfs_read\n"}, errAbsent},
		{"a name that begins so", map[string]string{tracers: "function_graph nop\n", functions: "vfs_read\n"}, errAbsent},
		{"no tracers", nil, errAbsent},
		{"no functions", map[string]string{tracers: "function nop\n"}, unix.ENOENT},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := hostOf(t, test.files).tracer("function"); !errors.Is(err, test.want) || (test.want == nil) != (err == nil) {
				t.Errorf("tracer = %v, want %v", err, test.want)
			}
		})
	}
}

func TestAVersionIsComparedByNumber(t *testing.T) {
	for release, want := range map[string]bool{"6.11.0\n": true, "6.1.0-50-cloud-amd64\n": false, "?\n": false} {
		h := hostOf(t, map[string]string{"proc/sys/kernel/osrelease": release})
		if err := h.since(6, 11); (err == nil) != want {
			t.Errorf("%q since 6.11: %v, want %t", release, err, want)
		}
	}
}

func TestTheReadmeTellsWhatIsBuiltIn(t *testing.T) {
	h := hostOf(t, map[string]string{"tracing/README": "\t           f[:[<group>/][<event>]] <func-name>[%return] [<args>]\n"})
	if err := h.inReadme("f[:[<group>/]"); err != nil {
		t.Errorf("with the line: %v", err)
	}
	if err := hostOf(t, map[string]string{"tracing/README": "tracing mini-HOWTO\n"}).inReadme("f[:[<group>/]"); err != errAbsent {
		t.Errorf("without: %v, want %v", err, errAbsent)
	}
}
