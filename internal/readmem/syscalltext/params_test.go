package syscalltext

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/ftrace"
)

// formatOf makes the format of a call's event from the types and names of its
// parameters.
func formatOf(name string, params ...string) *ftrace.Format {
	f := &ftrace.Format{System: "syscalls", Name: "sys_enter_" + name, ID: 1, Fields: []ftrace.Field{
		{Name: "common_type", Type: "unsigned short", Size: 2, Common: true},
		{Name: "common_pid", Type: "int", Offset: 4, Size: 4, Common: true},
		{Name: "__syscall_nr", Type: "int", Offset: 8, Size: 4},
	}}
	for i := 0; i+1 < len(params); i += 2 {
		f.Fields = append(f.Fields, ftrace.Field{Type: params[i], Name: params[i+1], Offset: 16 + 4*i, Size: 8})
	}
	return f
}

func TestParamsAreWhatPointsToText(t *testing.T) {
	for _, test := range []struct {
		name   string
		format *ftrace.Format
		want   []Param
	}{
		{"a path", formatOf("openat", "int", "dfd", "const char *", "filename", "int", "flags"), []Param{{Name: "filename", Index: 1}}},
		{"two", formatOf("rename", "const char *", "oldname", "const char *", "newname"), []Param{{Name: "oldname"}, {Name: "newname", Index: 1}}},
		{"the arguments of a program, and not its environment",
			formatOf("execve", "const char *", "filename", "const char *const *", "argv", "const char *const *", "envp"),
			[]Param{{Name: "filename"}, {Name: "argv", Index: 1, Vector: true}}},
		{"text that the kernel calls writable", formatOf("mount", "char *", "dev_name", "void *", "data"), []Param{{Name: "dev_name"}}},
		{"a buffer to be written", formatOf("write", "unsigned int", "fd", "const char *", "buf"), nil},
		{"a buffer to be read into", formatOf("read", "unsigned int", "fd", "char *", "buf"), nil},
		{"numbers", formatOf("close", "unsigned int", "fd"), nil},
		{"the end of a call", &ftrace.Format{System: "syscalls", Name: "sys_exit_openat"}, nil},
		{"another system's event", &ftrace.Format{System: "sched", Name: "sys_enter_x", Fields: formatOf("chdir", "const char *", "filename").Fields}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Params(test.format)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
