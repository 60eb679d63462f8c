package probe

import (
	"errors"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestASpecSaysWhatItMeans(t *testing.T) {
	for _, test := range []struct {
		text string
		want Spec
	}{
		{"libc:malloc", Spec{Place: User, Kind: 'p', Probe: "libc:malloc", Whole: true}},
		{" p: libc:malloc ", Spec{Place: User, Kind: 'p', Probe: "libc:malloc", Whole: true}},
		{"r:./prog:main", Spec{Place: User, Kind: 'r', Probe: "./prog:main", Whole: true}},
		{"./prog:main+4", Spec{Place: User, Kind: 'p', Probe: "./prog:main+4"}},
		{"./prog:0x40", Spec{Place: User, Kind: 'p', Probe: "./prog:0x40"}},
		{"./prog:main.c:12", Spec{Place: User, Kind: 'p', Probe: "./prog:main.c:12"}},
		{"p:./prog:main n=$arg1", Spec{Place: User, Kind: 'p', Probe: "./prog:main n=$arg1", Whole: true, Arguments: 1}},
		{"./prog:main $arg1 $arg2", Spec{Place: User, Kind: 'p', Probe: "./prog:main $arg1 $arg2", Whole: true, Arguments: 2}},
		{"./prog:main $args", Spec{Place: User, Kind: 'p', Probe: "./prog:main $args", Whole: true, Arguments: 2}},
		{"p:mine ./prog:main", Spec{Place: User, Kind: 'p', Probe: "mine ./prog:main", Whole: true}},
		{"u:libc:libc:setjmp", Spec{Place: User, Kind: 'u', Probe: "libc:libc:setjmp"}},
		{"vfs_read", Spec{Place: Kernel, Kind: 'p', Probe: "vfs_read", Whole: true}},
		{"p::vfs_read", Spec{Place: Kernel, Kind: 'p', Probe: "vfs_read", Whole: true}},
		{"r:vfs_read $retval", Spec{Place: Kernel, Kind: 'r', Probe: "vfs_read $retval", Whole: true, Arguments: 1}},
		{"vfs_read+8", Spec{Place: Kernel, Kind: 'p', Probe: "vfs_read+8"}},
		{"0xffffffff81000000", Spec{Place: Kernel, Kind: 'p', Probe: "0xffffffff81000000"}},
		{"t:sched:sched_switch", Spec{Place: Tracepoint, Kind: 't', Probe: "sched:sched_switch"}},
	} {
		spec, err := Parse(test.text, View{})
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		test.want.Text, test.want.definition = test.text, spec.definition
		if *spec != test.want {
			t.Errorf("%s: %+v, want %+v", test.text, *spec, test.want)
		}
	}
}

func TestAModuleOfTheKernelIsNoFile(t *testing.T) {
	// Linux has /sys/module/kernel everywhere, and no program is called so.
	if place, _ := placeOf("kernel:function", 0); place != Kernel {
		t.Errorf("kernel:function is at %d, want the kernel", place)
	}
	if place, _ := placeOf("no-such-module:function", 0); place != User {
		t.Errorf("no-such-module:function is at %d, want user code", place)
	}
}

func TestAMistakeInASpecIsPointedAt(t *testing.T) {
	for _, parse := range []func() (*Spec, error){
		func() (*Spec, error) { return Parse("./prog:\"main", View{}) },
		func() (*Spec, error) { return Parse("p:-", View{}) },
		func() (*Spec, error) { return ParseUser("x:./prog:main") },
		func() (*Spec, error) { return ParseKernel("vfs_read") },
	} {
		if spec, err := parse(); !errors.As(err, new(*ftrace.SyntaxError)) {
			t.Errorf("%+v: %v, want a SyntaxError", spec, err)
		}
	}
}
