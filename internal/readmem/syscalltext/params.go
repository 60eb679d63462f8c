package syscalltext

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// Param is a parameter of a system call that points to text.
type Param struct {
	Name  string
	Index int // among the parameters, from 0
	// Vector says that the parameter points to pointers to text, up to a null pointer.
	Vector bool
}

// Params returns the parameters that point to text, in order. Their type is const char *, but buffers of
// arbitrary data are left out, and a few parameters are included whose definition lacks the const. The
// environment of execve(2) is left out: nobody wants it in a line.
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

// enterPrefix starts the name of each event for the entry of a system call.
const enterPrefix = "sys_enter_"

// buffers are the names of parameters that point to arbitrary data with a length.
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

// firstArgument is the offset of the parameters in a record, after the common fields and the number of the
// call (struct syscall_trace_enter).
const firstArgument = 16

// arguments returns the fields of a system call's parameters.
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
