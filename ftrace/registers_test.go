package ftrace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// translate parses and translates arguments, and writes them out again.
func translate(t *testing.T, text, arch string, isReturn bool) (out string, notes []string, err error) {
	t.Helper()
	args, err := ParseFetchArgs(text)
	if err != nil {
		t.Fatal(err)
	}
	args, notes, err = UserArgs(args, arch, isReturn)
	var words []string
	for _, arg := range args {
		words = append(words, arg.String())
	}
	return strings.Join(words, " "), notes, err
}

// The register of an argument is the psABI's: amd64 section 3.2.3, AAPCS64
// section 6.8.2.
func TestArgumentsAreWhereTheCallingConventionPutsThem(t *testing.T) {
	for _, test := range []struct{ name, arch, args, want string }{
		{"amd64's registers", "amd64", "$arg1 $arg2 $arg3 $arg4 $arg5 $arg6", "arg1=%di arg2=%si arg3=%dx arg4=%cx arg5=%r8 arg6=%r9"},
		{"amd64's stack begins with the return address", "amd64", "$arg7 $arg8", "arg1=$stack1 arg2=$stack2"},
		{"arm64's registers", "arm64", "$arg1 $arg8", "arg1=%x0 arg2=%x7"},
		{"arm64's stack begins with the first argument", "arm64", "$arg9 $arg10", "arg1=$stack0 arg2=$stack1"},
		{"i386's stack, in words of 32 bits", "386", "$arg1 n=$arg3:s16 $stack2 %eax %esp", "arg1=+4(%sp):x32 n=+12(%sp):s16 arg3=+8(%sp):x32 arg4=%ax arg5=%sp"},
		{"what a register of i386 points to", "386", "s=+0(%eax):string w=+8(%bp):s32", "s=+0(%ax):string w=+8(%bp):s32"},
		{"behind offsets", "amd64", "cmd=+0(-8(+u16($arg3))):string", "cmd=+0(-8(+u16(%dx))):string"},
		{"with a type", "amd64", "n=$arg2:s32", "n=%si:s32"},
		{"other things stay", "amd64", `a=@0x10 b=\5 c=\"$arg1" d=$stack e=$comm`, `a=@0x10 b=\5 c=\"$arg1" d=$stack e=$comm`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, notes, err := translate(t, test.args, test.arch, false)
			if err != nil || got != test.want || len(notes) > 0 {
				t.Errorf("%q, notes %q, %v; want %q", got, notes, err, test.want)
			}
		})
	}
}

func TestPointersOn32BitStacksAreRefused(t *testing.T) {
	for _, args := range []string{"+0($arg1):string", "+4(+8(%sp)):u32", "+0($stack3)"} {
		if got, _, err := translate(t, args, "386", false); !errors.Is(err, errShort) {
			t.Errorf("%s is %q, %v", args, got, err)
		}
	}
}

func TestRegistersAreNamedAsPeopleNameThem(t *testing.T) {
	for _, test := range []struct {
		name, arch, args, want string
		isReturn               bool
		notes                  []string
	}{
		{"amd64's whole registers", "amd64", "%rdi %r8 %rax %rip %rflags", "arg1=%di arg2=%r8 arg3=%ax arg4=%ip arg5=%flags", false, nil},
		{"amd64's parts", "amd64", "%edi %dil %r8d %r9w %r10b %al", "arg1=%di:x32 arg2=%di:x8 arg3=%r8:x32 arg4=%r9:x16 arg5=%r10:x8 arg6=%ax:x8", false, nil},
		{"a part with a type", "amd64", "n=%edi:s32", "n=%di:s32", false, nil},
		{"a part with a larger type", "amd64", "n=%edi:u64", "n=%di:u64", false, []string{"n: %edi has 32 bits; the others that u64 shows are what else is in %di"}},
		{"a part for an address", "amd64", "s=+0(%esi):string", "s=+0(%si):string", false, []string{"s: an address has 64 bits, so all of %si is taken for %esi"}},
		{"arm64's parts", "arm64", "%w0 %fp %lr %wsp", "arg1=%x0:x32 arg2=%x29 arg3=%lr arg4=%sp:x32", false, nil},
		{"amd64's arguments on arm64", "arm64", "+0(%di):string n=%esi", "arg1=+0(%x0):string n=%x1:x32", false,
			[]string{"these are amd64 registers; on arm64 ringtap used their equivalents: %di is %x0, %esi is %x1"}},
		{"amd64's return value on arm64", "arm64", "%ax", "arg1=%x0", true,
			[]string{"these are amd64 registers; on arm64 ringtap used their equivalents: %ax is %x0"}},
		{"the return value", "arm64", "$retval", "arg1=$retval", true, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, notes, err := translate(t, test.args, test.arch, test.isReturn)
			if err != nil || got != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
			if diff := cmp.Diff(test.notes, notes); diff != "" {
				t.Errorf("notes, want -, got +:\n%s", diff)
			}
		})
	}
}

func TestWhatIsNotThereIsRefusedWithTheReason(t *testing.T) {
	for _, test := range []struct {
		name, arch, args string
		isReturn         bool
		want             string
	}{
		{"the return value at the entry", "amd64", "a=+0($retval)", false, "r:"},
		{"an argument at the return", "amd64", "a=$arg1", true, "p:"},
		{"arm64's register on amd64", "amd64", "%x0", false, "amd64 has no register %x0"},
		{"the second byte of a register", "amd64", "%ah", false, "amd64 has no register %ah"},
		{"a register that is none", "amd64", "%dj", false, "did you mean %dx, %di?"},
		{"amd64's %ax at the entry on arm64", "arm64", "%ax", false, "stands for nothing"},
		{"amd64's %di at the return on arm64", "arm64", "%di", true, "stands for nothing"},
		{"another architecture", "s390x", "%r2", false, "s390x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := translate(t, test.args, test.arch, test.isReturn)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%q, %v; want an error with %q", got, err, test.want)
			}
		})
	}
	_, _, err := translate(t, "%rdj", "amd64", false)
	var e *RegisterError
	if !errors.As(err, &e) || !slices.Contains(e.All, "di") || len(e.All) != 21 {
		t.Errorf("%v; want a RegisterError with all registers", err)
	}
}
