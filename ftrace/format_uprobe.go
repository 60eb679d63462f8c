package ftrace

// Names of the fields that hold where a probe was hit
// (kernel/trace/trace_probe.h, FIELD_STRING_…).
const (
	FieldProbeIP    = "__probe_ip"     // the place of a probe that is not on a return
	FieldProbeFunc  = "__probe_func"   // the function that a return probe is on
	FieldProbeRetIP = "__probe_ret_ip" // where it returns to
)

// commonFields are those that every record starts with
// (include/linux/trace_events.h, struct trace_entry).
func commonFields() []Field {
	return []Field{
		{Name: "common_type", Type: "unsigned short", Offset: 0, Size: 2, ElemSize: 2, Common: true},
		{Name: "common_flags", Type: "unsigned char", Offset: 2, Size: 1, ElemSize: 1, Common: true},
		{Name: "common_preempt_count", Type: "unsigned char", Offset: 3, Size: 1, ElemSize: 1, Common: true},
		{Name: "common_pid", Type: "int", Offset: 4, Size: 4, ElemSize: 4, Signed: true, Common: true},
	}
}

// UprobeFormat is the format of a user probe without arguments, which the
// records of perf's own uprobe events have; they have no file in tracefs. A
// return probe's records hold the function (__probe_func) and the place it
// returns to (__probe_ret_ip), an entry probe's the place of the probe
// (__probe_ip). The ID is 0: the kernel gives each such event another.
func UprobeFormat(system, name string, ret bool) *Format {
	address := func(name string, offset int) Field {
		return Field{Name: name, Type: "unsigned long", Offset: offset, Size: 8, ElemSize: 8}
	}
	f := &Format{System: system, Name: name, Fields: commonFields()}
	if ret {
		f.Fields = append(f.Fields, address(FieldProbeFunc, 8), address(FieldProbeRetIP, 16))
		f.PrintFmt = `"(%lx <- %lx)", REC->__probe_func, REC->__probe_ret_ip`
	} else {
		f.Fields = append(f.Fields, address(FieldProbeIP, 8))
		f.PrintFmt = `"(%lx)", REC->__probe_ip`
	}
	return f
}
