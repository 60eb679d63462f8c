package syscalltext

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// Param is a parameter of a system call that points to text.
type Param struct {
	Name  string
	Index int // among the parameters, from 0
	// Vector says that it points to pointers to text, up to a null pointer.
	Vector bool
}

// Params returns the parameters that point to text, in order: those that the
// system call's definition calls const char *, but for the buffers among them
// that hold anything, and the few that the kernel forgot the const of. The
// environment of execve(2) is none of them: nobody wants it in a line.
func Params(f *ftrace.Format) []Param {
	if f.System != "syscalls" || !strings.HasPrefix(f.Name, enterPrefix) {
		return nil
	}
	var params []Param
	for i, field := range arguments(f) {
		switch {
		case field.Type == "const char *" && !buffers[field.Name],
			field.Type == "char *" && writableTexts[f.Name+" "+field.Name]:
			params = append(params, Param{Name: field.Name, Index: i})
		case field.Type == "const char *const *" && field.Name == "argv":
			params = append(params, Param{Name: field.Name, Index: i, Vector: true})
		}
	}
	return params
}

// enterPrefix is what the names of the events of calls begin with.
const enterPrefix = "sys_enter_"

// buffers are the names of parameters that have a length and hold anything.
var buffers = map[string]bool{"buf": true, "u_msg_ptr": true}

// writableTexts are the parameters that are text though their type is char *.
var writableTexts = map[string]bool{
	"sys_enter_mount dev_name":  true,
	"sys_enter_mount dir_name":  true,
	"sys_enter_mount type":      true,
	"sys_enter_umount name":     true,
	"sys_enter_utime filename":  true,
	"sys_enter_utimes filename": true,
}

// firstArgument is where the parameters begin in a record, behind the common
// fields and the number of the call (struct syscall_trace_enter).
const firstArgument = 16

// arguments are the fields of a system call's parameters.
func arguments(f *ftrace.Format) []*ftrace.Field {
	var args []*ftrace.Field
	for i := range f.Fields {
		field := &f.Fields[i]
		if field.Common || field.Location != ftrace.Inline || field.Offset < firstArgument {
			continue
		}
		args = append(args, field)
	}
	return args
}
