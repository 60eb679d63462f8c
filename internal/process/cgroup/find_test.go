package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/host/proc"
)

func TestAControlGroupIsFoundByPathOrByAPartOfItsName(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"v2/system.slice/docker-0123456789abcdef.scope/init", "v2/kube/pod1/cri-0199aa", "v2/kube/web", "v2/kube/web-2", "v2/a/same", "v2/b/same", "perf/docker/0123456789abcdef"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	v2 := "proc /proc proc rw 0 0\ncgroup2 " + root + "/v2 cgroup2 rw,nosuid 0 0\n"
	hybrid := v2 + "cgroup " + root + "/perf cgroup rw,perf_event 0 0\n"
	for _, test := range []struct{ name, mounts, group, want, err string }{
		{"a directory", "", root + "/v2/kube", "v2/kube", ""},
		{"a path in the hierarchy", v2, "/kube/pod1", "v2/kube/pod1", ""},
		{"the root of the hierarchy", v2, "/", "v2", ""},
		{"a container's id", v2, "0123456789abcdef", "v2/system.slice/docker-0123456789abcdef.scope", ""},
		{"the beginning of one", v2, "0123", "v2/system.slice/docker-0123456789abcdef.scope", ""},
		{"one where v1 has perf_event", hybrid, "0123", "perf/docker/0123456789abcdef", ""},
		{"the beginning of several", v2, "01", "", "2 control groups"},
		{"one whose name is a part of another's", v2, "web", "v2/kube/web", ""},
		{"two of one name", v2, "same", "", "2 control groups"},
		{"none", v2, "4567x", "", "no control group below"},
		{"no hierarchy", "", "0123", "", "no cgroup v2"},
		{"a path that is not there", v2, "/no/such", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := find(mountsOf(t, test.mounts), test.group)
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
			case err != nil:
				t.Error(err)
			case test.want == "":
				if got != test.group {
					t.Errorf("%q, want it as it is", got)
				}
			case got != filepath.Join(root, test.want):
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// mountsOf returns the mounted file systems of a text of /proc/self/mounts.
func mountsOf(t *testing.T, text string) []proc.Mount {
	t.Helper()
	files := proc.FS(t.TempDir())
	if err := errors.Join(os.Mkdir(files.Name("self"), 0o755), os.WriteFile(files.Self("mounts"), []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	mounts, err := files.Mounts()
	if err != nil {
		t.Fatal(err)
	}
	return mounts
}

// A directory that is no control group is in nobody's way, wherever ringtap runs.
func TestADirectoryOfTheSameNameIsNoControlGroup(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	for _, dir := range []string{"v2/kube/web", "web", "other"} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	mounts := "cgroup2 " + root + "/v2 cgroup2 rw 0 0\n"
	for name, want := range map[string]string{"web": root + "/v2/kube/web", "other": "other"} {
		if got, err := find(mountsOf(t, mounts), name); got != want || err != nil {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestTheMembersOfAControlGroupAndOfThoseBelow(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"v2/cgroup.procs": "12\n0\n7\n", "v2/cgroup.threads": "12\n13\n7\n",
		"v2/below/cgroup.procs": "5\n", "v2/below/cgroup.threads": "5\n6\n",
		"v1/cgroup.procs": "3\n", "v1/tasks": "3\n4\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o777), os.WriteFile(filepath.Join(root, path), []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		list func(string) ([]int, error)
		dir  string
		want []int
	}{
		{"processes", Processes, "v2", []int{5, 7, 12}},
		{"threads", Threads, "v2", []int{5, 6, 7, 12, 13}},
		{"threads of v1", Threads, "v1", []int{3, 4}},
	} {
		got, err := test.list(filepath.Join(root, test.dir))
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.name, got, err, test.want)
		}
	}
	if _, err := Threads(filepath.Join(root, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a group that is not there: %v", err)
	}
}
