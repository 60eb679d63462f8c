package ftrace

import (
	"fmt"
	"strconv"
	"strings"
)

// KprobeFormat returns the format that the kernel would give a kernel probe at a function's
// entry with integer arguments. It is for records that the caller builds the same way: the
// common fields, __probe_ip, and the arguments without padding. The error says which argument
// is not an integer.
func KprobeFormat(system, name string, args []FetchArg) (*Format, error) {
	f := UprobeFormat(system, name, false)
	var text, values strings.Builder
	offset := 16
	for _, a := range args {
		size, err := NumberSize(a)
		if err != nil {
			return nil, err
		}
		kind, long := numberKind(a), ""
		if size == 8 {
			long = "L"
		}
		verb := map[byte]string{'u': "%" + long + "u", 's': "%" + long + "d", 'x': "0x%" + long + "x"}[kind]
		letter := map[byte]string{'u': "u", 's': "s", 'x': "u"}[kind]
		f.Fields = append(f.Fields, Field{Name: a.Name, Type: letter + strconv.Itoa(8*size),
			Offset: offset, Size: size, ElemSize: size, Signed: kind == 's'})
		fmt.Fprintf(&text, " %s=%s", a.Name, verb)
		fmt.Fprintf(&values, ", REC->%s", a.Name)
		offset += size
	}
	f.PrintFmt = fmt.Sprintf(`"(%%lx)%s", REC->__probe_ip%s`, text.String(), values.String())
	return f, nil
}

// NumberSize returns the size of an integer argument in a record, in bytes. The types are u8 to
// u64, s8 to s64, x8 to x64, and "", which means x64. Other types are an error.
func NumberSize(a FetchArg) (int, error) {
	switch a.Type {
	case "":
		return 8, nil
	case "u8", "s8", "x8":
		return 1, nil
	case "u16", "s16", "x16":
		return 2, nil
	case "u32", "s32", "x32":
		return 4, nil
	case "u64", "s64", "x64":
		return 8, nil
	}
	return 0, fmt.Errorf("argument %s: the type %s is no whole number", a, a.Type)
}

// numberKind returns how an integer is printed: 'u', 's' or 'x'.
func numberKind(a FetchArg) byte {
	if a.Type == "" {
		return 'x'
	}
	return a.Type[0]
}
