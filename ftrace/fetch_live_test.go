package ftrace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// fetchTable are arguments right and wrong; the live test asks the kernel which.
var fetchTable = []string{
	"", "%di", "a=%di", "a=%di b=%si", "arg2=%di %si", "=%di", "a=", "a==%di", "a.b=%di", "1a=%di", "_=%di", "if=%di",
	"common_pid=%di", "__probe_ip=%di", "__probe_func=%di", "a=%DI", "a=%dix", "a=%", "a=% di", "%rdi", "%x0", "%ax %bx %cx %dx %si %di %bp %sp",
	"%r8 %r9 %r10 %r11 %r12 %r13 %r14 %r15", "%ip %flags %cs %ss %orig_ax", "%ds", "%fs",
	"$retval", "$retval:s32", "$stack", "$stack0", "$stack12:u8", "$stackx", "$stack1x", "$stack0x1", "$stack-1", "$stack+1", "$stack99999999", "$stack01",
	"$comm", "$COMM", "$Comm", "$comm:string", "$comm:ustring", "$comm:u8", "$comm:string[2]", "$comm:", "$", "$foo", "$argx",
	"@0x10", "@16", "@", "@foo", "@+0x10", "@+-8", "@++8", "@-8", "@+", "@0x", "@0x1g", "@018", "@+0x7fffffffffffffff", "@+0x8000000000000000",
	"@0xffffffffffffffff", "@0x10000000000000000", "@0X1F", "@0x10:string", "@+8:u8[4]", "@_x",
	"+0(%di)", "-0(%di)", "+8(%di):string", "-8(%di):u8", "+0x10(%di)", "+-8(%di)", "++8(%di)", "--8(%di)", "-+8(%di)", "+(%di)", "-(%di)", "+x(%di)",
	"+u8(%di)", "-u8(%di)", "+u-8(%di)", "+u+8(%di)", "-u-8(%di)", "+uu8(%di)", "+u(%di)", "+0u(%di)", "+U8(%di)",
	"+0()", "+0(", "+0)", "+0", "+0(%di", "+0(%di))", "+0(+0(%di)", "+0(+8($stack3))", "+0(-8(+16(%di))):string", "+0(di)", "+0($retval):string",
	"+0($comm)", `+0(\"abc")`, `+0(\5)`, `+0(\5):string`, "+0(@16)", "+0(@+16):string", "+0(%di:u8)", "+9223372036854775807(%di)", "-9223372036854775808(%di)",
	"-9223372036854775809(%di)", "+9223372036854775808(%di)", "+00(%di)", "+08(%di)", "+0x(%di)",
	`\5`, `\-5`, `\+5`, `\+-5`, `\++5`, `\--5`, `\-+5`, `\`, `\x`, `\0x10`, `\010`, `\08`, `\18446744073709551615`, `\18446744073709551616`, `\-9223372036854775808`,
	`\-9223372036854775809`, `\+9223372036854775808`, `\"abc"`, `\"abc`, `\"a"b"`, `\""`, `\"abc":string`, `\"abc":u8`, `\"a:b"`, `\5:string`, `\5:string[2]`, `\5:u8[2]`, `\"a=b"`,
	"%di:u8", "%di:u16", "%di:u32", "%di:u64", "%di:s8", "%di:s16", "%di:s32", "%di:s64", "%di:x8", "%di:x16", "%di:x32", "%di:x64", "%di:char",
	"%di:u7", "%di:u128", "%di:U8", "%di:", "%di:string", "%di:ustring", "%di:symbol", "%di:symstr", "%di:%pd", "%di:%pD", "%di:int", "%di:u8:u8", "%di:[2]",
	"$stack2:string", "$stack:string", "+0(%di):string", "+0(%di):ustring", "+u0(%di):string", "+u0(%di):ustring", "+0(%di):symbol", "+0(%di):symstr",
	"+0(%di):u8[1]", "+0(%di):u8[64]", "+0(%di):u8[65]", "+0(%di):u8[0]", "+0(%di):u8[]", "+0(%di):u8[-1]", "+0(%di):u8[+1]", "+0(%di):u8[0x10]", "+0(%di):u8[010]",
	"+0(%di):u8[2", "+0(%di):u8[2]x", "+0(%di):u8[2][2]", "+0(%di):u8]2[", "+0(%di):char[8]", "%di:u8[2]", "$stack:u8[2]", "+u0(%di):u8[2]", "+0(%di):string[2]", "+u0(%di):string[2]",
	"@16:u8[2]", "@+16:string[3]", "$retval:u8[2]", "%di:string[2]",
	"%di:b1@0/8", "%di:b8@0/8", "%di:b9@0/8", "%di:b4@4/8", "%di:b4@5/8", "%di:b0@0/8", "%di:b1@0/7", "%di:b1@0/64", "%di:b64@0/64", "%di:b65@0/64", "%di:b1/8", "%di:b1@/8",
	"%di:b@1/8", "%di:b1@0", "%di:b1@0/", "%di:b1@0/08", "%di:b1@0/0x20", "%di:b0x4@010/040", "%di:b1@0/8/8", "%di:b", "%di:b1@0/8x", "%di:b+1@0/8", "%di:b1@0/+8", "%di:b1x@0/8",
	"+0(%di):b1@0/8", "+0(%di):b1@0/8[2]", "%di:b1@0/8[2]", "+u0(%di):b1@0/8", "+u0(%di):b1@0/8[2]",
	"a", "_a", "a=b", "5", "a=5", "*", "a=*%di", "(%di)", "a=(%di)", "'%di'", "\"%di\"", "%di,%si", "%di;%si", "a=%di=b",
	"a=+0(%di):string b=-4(%bp):s32 c=$stack1:x64 d=$comm", "%di %di %di %di %di %di %di %di",
	strings.Repeat("n", 32) + "=%di", strings.Repeat("n", 33) + "=%di", strings.Repeat("n", 63) + "=%di",
	`\"` + strings.Repeat("n", 60) + `"`, `\"` + strings.Repeat("n", 61) + `"`,
	nested(1, ":u8"), nested(2, ""), nested(13, ":string"), nested(14, ""), nested(14, ":u8"), nested(15, ""), nested(14, ":b1@0/8"), nested(12, ":u8[2]"),
	nested(13, ":string[2]"), nested(12, ":string[2]"), strings.Repeat("+0(", 12) + "@16" + strings.Repeat(")", 12), strings.Repeat("+0(", 13) + "@16" + strings.Repeat(")", 13),
	"a=%di\xa0b=%si", "a=%di #b=%si", "a=\"", "$retvalx", "+0($retvalx)", "$stack4294967295", "$stack4294967296", "+0(%di)x", "+0(+0(%di)x):u8", `\"`, "\x00", "a=%di\tb=%si\vc=%dx\f",
}

func nested(depth int, typ string) string {
	return strings.Repeat("+0(", depth) + "%di" + strings.Repeat(")", depth) + typ
}

// kernelTakes asks the kernel for an event with these arguments.
func kernelTakes(t testing.TB, group *Group, kind byte, args string) error {
	t.Helper()
	// Not Define: it looks at the text first.
	err := group.fs.appendLine(group.file, string(kind)+":"+group.Name()+"/probe "+place+" "+args)
	if err == nil {
		if err := group.fs.removeEvent(group.file, group.Name(), "probe", closePatience); err != nil {
			t.Fatal(err)
		}
	}
	return err
}

// compareWithKernel asks both ringtap and the kernel whether arguments are
// right. Of those that ringtap takes the kernel gets the translation.
func compareWithKernel(t *testing.T, group *Group, kind byte, text string) (taken bool) {
	t.Helper()
	text = here(text)
	args, err := ParseFetchArgs(text)
	if err == nil {
		args, _, err = UserArgs(args, runtime.GOARCH, kind == 'r')
	}
	if err != nil {
		if kernelTakes(t, group, kind, text) == nil && !isDeliberate(text) && !isLinux7(t, text, nil) {
			t.Errorf("%c: the kernel takes %q, ringtap does not: %v", kind, text, err)
		}
		return false
	}
	var words []string
	for _, arg := range args {
		words = append(words, arg.String())
	}
	if err := kernelTakes(t, group, kind, strings.Join(words, " ")); err != nil && !isLinux7(t, text, err) {
		t.Errorf("%c: ringtap makes %q of %q, the kernel does not take it: %v", kind, words, text, err)
	}
	return true
}

// isDeliberate reports whether ringtap refuses what the kernel takes, but does not
// read to its end: text behind a closing parenthesis, behind $retval in
// some versions, behind 32 bits of a stack word's number, a comment, and a text that is
// neither open nor closed. A byte 0xa0 is white space for the kernel alone. Older
// kernels take the types of kernel addresses for user probes too.
func isDeliberate(text string) bool {
	if strings.Contains(text, "#") || strings.Contains(text, "\xa0") || strings.Contains(text, ":sym") {
		return true
	}
	body := text[strings.IndexByte(text, '=')+1:]
	body, _, _ = strings.Cut(body, ":")
	for strings.HasPrefix(body, "+") || strings.HasPrefix(body, "-") {
		open, shut := strings.IndexByte(body, '('), strings.LastIndexByte(body, ')')
		if open < 0 || shut < open {
			return false
		}
		if shut+1 != len(body) {
			return true
		}
		body = body[open+1 : shut]
	}
	return body == `\"` || strings.HasPrefix(body, "$retval") || strings.HasPrefix(body, "$stack") && len(body) > len("$stack4294967295")-1
}

// withGrammar skips the test on kernels that lack some of the types.
func withGrammar(t *testing.T) *FS {
	tracefs := withUprobes(t)
	readme, err := os.ReadFile(filepath.Join(tracefs.Dir(), "README"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "symstr") {
		t.Skip("fetch arguments of type symstr: this kernel is older")
	}
	return tracefs
}

// hasChar reports whether the kernel has the type char (Linux 6.3).
func hasChar(t *testing.T, tracefs *FS) bool {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(tracefs.Dir(), "README"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(readme), " char,")
}

// isLinux7 reports whether Linux 7 answers otherwise than those before: it takes longer
// arguments, and fewer steps to a value that is behind many pointers.
func isLinux7(t *testing.T, text string, err error) bool {
	t.Helper()
	if !testlimit.Linux(t, 7, 0) {
		return false
	}
	if err == nil {
		return len(text) > maxFetchBody
	}
	return errors.Is(err, unix.E2BIG) && strings.Count(text, "(") > maxFetchSteps*2/3
}

func TestLiveTheKernelTakesTheSameFetchArgs(t *testing.T) {
	tracefs := withGrammar(t)
	group := newGroup(t, tracefs, "uprobe_events")
	char := hasChar(t, tracefs)
	for _, text := range fetchTable {
		if strings.Contains(text, ":char") && !char {
			continue
		}
		for _, kind := range []byte("pr") {
			compareWithKernel(t, group, kind, text)
		}
	}
}

func TestLiveTheKernelTakesTheSameGeneratedFetchArgs(t *testing.T) {
	n := testlimit.Calls(20000)
	tracefs := withGrammar(t)
	group := newGroup(t, tracefs, "uprobe_events")
	random := rand.New(rand.NewPCG(1, 2))
	taken := 0
	for range n {
		if compareWithKernel(t, group, 'p', generateArg(random)) {
			taken++
		}
	}
	if taken < n/10 || taken > n*9/10 {
		t.Errorf("%d of %d are right: the generator is lopsided", taken, n)
	}
}

// generateArg makes an argument, mostly a right one, with one change in half of
// them.
func generateArg(random *rand.Rand) string {
	pick := func(s ...string) string { return s[random.IntN(len(s))] }
	number := func() string {
		return pick("0", "1", "8", "0x10", "64", "010", fmt.Sprint(random.IntN(100)))
	}
	text := pick("%di", "%si", "%r10", "%ip", "$stack", "$stack"+fmt.Sprint(random.IntN(20)), "$comm", "@"+number(), "@+"+number(), `\`+number(), `\-`+number(), `\"ab"`)
	for range random.IntN(4) {
		text = pick("+", "-", "+u", "-u") + number() + "(" + text + ")"
	}
	text = pick("", "a=", "b_1=") + text
	switch random.IntN(6) {
	case 0:
		text += ":" + pick("string", "ustring")
	case 1:
		text += ":" + pick("u", "s", "x") + pick("8", "16", "32", "64")
	case 2:
		text += ":b" + number() + "@" + number() + "/" + pick("8", "16", "32", "64")
	}
	if random.IntN(6) == 0 {
		text += pick("", ":u8") + "[" + number() + "]"
	}
	if random.IntN(2) == 0 {
		at := random.IntN(len(text))
		switch random.IntN(3) {
		case 0:
			text = text[:at] + text[at+1:]
		case 1:
			text = text[:at] + pick("(", ")", "+", "-", "u", "0", "x", ":", "[", "]", "=", "$", "%", "@", "/", `\`, `"`, "b", "s") + text[at:]
		case 2:
			other := random.IntN(len(text))
			b := []byte(text)
			b[at], b[other] = b[other], b[at]
			text = string(b)
		}
	}
	return text
}
