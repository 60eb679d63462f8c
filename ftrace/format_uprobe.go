package ftrace

// Names of the fields with the address of a probe hit (kernel/trace/trace_probe.h,
// FIELD_STRING_…).
const (
	FieldProbeIP    = "__probe_ip"     // the address of a probe, except a return probe
	FieldProbeFunc  = "__probe_func"   // the function of a return probe
	FieldProbeRetIP = "__probe_ret_ip" // the address that the function returns to
)

// commonFields returns the fields at the start of every record (include/linux/trace_events.h,
// struct trace_entry).
func commonFields() []Field {
	return []Field{
		{Name: "common_type", Type: "unsigned short", Offset: 0, Size: 2, ElemSize: 2, Common: true},
		{Name: "common_flags", Type: "unsigned char", Offset: 2, Size: 1, ElemSize: 1, Common: true},
		{Name: "common_preempt_count", Type: "unsigned char", Offset: 3, Size: 1, ElemSize: 1, Common: true},
		{Name: "common_pid", Type: "int", Offset: 4, Size: 4, ElemSize: 4, Signed: true, Common: true},
	}
}

// UprobeFormat returns the format of a user probe without arguments. perf's own uprobe events
// have such records, but no file in tracefs. A return probe has the function (__probe_func) and
// the return address (__probe_ret_ip); an entry probe has the address of the probe
// (__probe_ip). The ID is 0, since the kernel gives each such event a different number.
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
