package ftrace

import "testing"

func TestKernelStringsAreReadFromTheirList(t *testing.T) {
	got := ParseKernelStrings([]byte("0xffffffff8281942f : \"thaw_processes\"\n0x10 : \"a \\\"b\\\"\"\nnonsense\n0x20 : \"\n"))
	if len(got) != 2 || got[0xffffffff8281942f] != "thaw_processes" || got[0x10] != `a "b"` {
		t.Errorf("%v", got)
	}
}
