package kprobe

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/ftrace"
)

// perfTools are the definitions of perf-tools' kprobe: the worked examples of its
// documentation, and those of its help.
var perfTools = []struct {
	text  string
	alias string
	kind  Kind
	where string
	fetch []string // NAME=FETCH:TYPE, with no name where there is none
}{
	{"p:do_sys_open", "", Entry, "do_sys_open", nil},
	{"r:do_sys_open", "", Return, "do_sys_open", nil},
	{"r:myopen do_sys_open $retval", "myopen", Return, "do_sys_open", []string{"=$retval"}},
	{"r:myopen do_sys_open rval=$retval", "myopen", Return, "do_sys_open", []string{"rval=$retval"}},
	{"p:myopen do_sys_open mode=%cx:u16", "myopen", Entry, "do_sys_open", []string{"mode=%cx:u16"}},
	{"p:myopen do_sys_open filename=+0(%si):string", "myopen", Entry, "do_sys_open", []string{"filename=+0(%si):string"}},
	{"p:myprobe bio_alloc %ax %bx %cx %dx", "myprobe", Entry, "bio_alloc", []string{"=%ax", "=%bx", "=%cx", "=%dx"}},
	{"p:myprobe bio_alloc %ax:u32", "myprobe", Entry, "bio_alloc", []string{"=%ax:u32"}},
	{"p:myprobe bio_alloc ax=%ax", "myprobe", Entry, "bio_alloc", []string{"ax=%ax"}},
	{"r:myprobe bio_alloc $retval", "myprobe", Return, "bio_alloc", []string{"=$retval"}},
	{"p:mytcp tcp_init_cwnd", "mytcp", Entry, "tcp_init_cwnd", nil},
	{"r:do_sys_open $retval", "", Return, "do_sys_open", []string{"=$retval"}},
	{"p:myprobe tcp_retransmit_skb", "myprobe", Entry, "tcp_retransmit_skb", nil},
	{"p:do_sys_open file=+0(%si):string", "", Entry, "do_sys_open", []string{"file=+0(%si):string"}},
}

func TestPerfToolsDefinitionsMeanTheSame(t *testing.T) {
	for _, test := range perfTools {
		t.Run(test.text, func(t *testing.T) {
			d, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var fetch []string
			for _, a := range d.Args {
				fetch = append(fetch, a.Fetch.String())
				if a.Path != "" {
					t.Errorf("%s is taken for an expression", a.Path)
				}
			}
			if d.Alias != test.alias || d.Kind != test.kind || d.Symbol != test.where || !cmp.Equal(fetch, test.fetch) {
				t.Errorf("got %+v", d)
			}
		})
	}
}

func TestAPlaceIsAFunctionOrAnAddress(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       Definition
	}{
		{"a function", "p:vfs_read", Definition{Symbol: "vfs_read"}},
		{"blanks around it", "p: \t vfs_read  ", Definition{Symbol: "vfs_read"}},
		{"a decimal offset", "p:vfs_read+12", Definition{Symbol: "vfs_read", Offset: 12}},
		{"a hexadecimal offset", "p:x vfs_read+0x1f", Definition{Alias: "x", Symbol: "vfs_read", Offset: 0x1f}},
		{"no offset", "r:vfs_read+0", Definition{Kind: Return, Symbol: "vfs_read"}},
		{"a module's function", "p:nfs:nfs_open", Definition{Module: "nfs", Symbol: "nfs_open"}},
		{"a module's function with a name", "p:mine snd-hda:f+8", Definition{Alias: "mine", Module: "snd-hda", Symbol: "f", Offset: 8}},
		{"an address", "p:0xffffffff81000000", Definition{Address: 0xffffffff81000000}},
		{"an address with a name", "p:mine 0xffffffff81000000", Definition{Alias: "mine", Address: 0xffffffff81000000}},
		{"what the compiler made", "p:finish_task_switch.isra.0", Definition{Symbol: "finish_task_switch.isra.0"}},
		{"a pattern", "p:vfs_*", Definition{Symbol: "vfs_*", Pattern: true}},
		{"a class of letters", "p:vfs_[rw]*", Definition{Symbol: "vfs_[rw]*", Pattern: true}},
		{"a pattern with a name", "p:all vfs_?pen", Definition{Alias: "all", Symbol: "vfs_?pen", Pattern: true}},
		{"a module's pattern", "r:nfs:*", Definition{Kind: Return, Module: "nfs", Symbol: "*", Pattern: true}},
		{"a quoted name", `p:"vfs_*"`, Definition{Symbol: "vfs_*"}},
		{"a quoted name with an offset", `p:a m:"b.c"+0x4`, Definition{Alias: "a", Module: "m", Symbol: "b.c", Offset: 4}},
		{"a name that could be a parameter's", "p:vfs_read count", Definition{Alias: "vfs_read", Symbol: "count"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if test.want.Kind == 0 {
				test.want.Kind = Entry
			}
			test.want.Text = test.text
			if diff := cmp.Diff(&test.want, d); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestTheSecondWordIsAnArgumentIfItCanBeNothingElse(t *testing.T) {
	for _, test := range []struct {
		name, text, alias, symbol string
		args                      []Arg // without Pos
	}{
		{"memory at a variable", "p:vfs_read @jiffies", "", "vfs_read", []Arg{{Fetch: ftrace.FetchArg{Fetch: "@jiffies"}}}},
		{"memory at a variable, further on", "p:vfs_read @jiffies+8:u64", "", "vfs_read", []Arg{{Fetch: ftrace.FetchArg{Fetch: "@jiffies+8", Type: "u64"}}}},
		{"memory at an address", "p:vfs_read @0xffff0000", "", "vfs_read", []Arg{{Fetch: ftrace.FetchArg{Fetch: "@0xffff0000"}}}},
		{"a constant", `p:vfs_read \5`, "", "vfs_read", []Arg{{Fetch: ftrace.FetchArg{Fetch: `\5`}}}},
		{"an offset to follow", `p:vfs_read +8(@jiffies)`, "", "vfs_read", []Arg{{Fetch: ftrace.FetchArg{Fetch: `+8(@jiffies)`}}}},
		{"a path of members", "p:vfs_open path->dentry->d_name.name:string", "", "vfs_open", []Arg{{Path: "path->dentry->d_name.name", Fetch: ftrace.FetchArg{Type: "string"}}}},
		{"another path", "p:tcp_connect sk->__sk_common.skc_daddr", "", "tcp_connect", []Arg{{Path: "sk->__sk_common.skc_daddr"}}},
		{"a path with a name", "p:x tcp_connect to=sk->__sk_common.skc_daddr:x32", "x", "tcp_connect", []Arg{{Path: "sk->__sk_common.skc_daddr", Fetch: ftrace.FetchArg{Name: "to", Type: "x32"}}}},
		{"a cast with blanks", "p:f ((struct sock *)x)->a.b[3]:u8 y", "", "f", []Arg{{Path: "((struct sock *)x)->a.b[3]", Fetch: ftrace.FetchArg{Type: "u8"}}, {Path: "y"}}},
		{"an element", "p:f a[2]", "", "f", []Arg{{Path: "a[2]"}}},
		{"a parameter with a type", "p:vfs_read count:u64", "", "vfs_read", []Arg{{Path: "count", Fetch: ftrace.FetchArg{Type: "u64"}}}},
		{"a parameter with a name", "p:vfs_read n=count", "", "vfs_read", []Arg{{Path: "count", Fetch: ftrace.FetchArg{Name: "n"}}}},
		{"all parameters", "p:vfs_read $args", "", "vfs_read", []Arg{{Path: "$args"}}},
		{"what is returned, typed", "r:vfs_read $args", "", "vfs_read", []Arg{{Path: "$args"}}},
		{"a member of what is returned", "r:f $retval->x", "", "f", []Arg{{Path: "$retval->x"}}},
		{"a parameter after an offset, which no alias has", "p:vfs_read+4 %di", "", "vfs_read", []Arg{{Fetch: ftrace.FetchArg{Fetch: "%di"}}}},
		{"a parameter after a module", "p:nfs:nfs_open filp", "", "nfs_open", []Arg{{Path: "filp"}}},
		{"both kinds", "p:mine vfs_read file count $comm c=$arg3:u32", "mine", "vfs_read", []Arg{{Path: "file"}, {Path: "count"}, {Fetch: ftrace.FetchArg{Fetch: "$comm"}}, {Fetch: ftrace.FetchArg{Name: "c", Fetch: "$arg3", Type: "u32"}}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			for i := range d.Args {
				d.Args[i].Pos = 0
			}
			if d.Alias != test.alias || d.Symbol != test.symbol {
				t.Errorf("alias %q, function %q; want %q, %q", d.Alias, d.Symbol, test.alias, test.symbol)
			}
			if diff := cmp.Diff(test.args, d.Args); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestAMistakeInADefinitionIsPointedAt(t *testing.T) {
	for _, test := range []struct{ name, text, at, message string }{
		{"nothing", "", "", "no colon"},
		{"no kind", "vfs_read", "vfs_read", "no colon"},
		{"another kind", "u:vfs_read", "u:vfs_read", "starts with p:"},
		{"a number of instances", "r9:vfs_read", "r9:vfs_read", "starts with p:"},
		{"no function", "p:", "", "no function"},
		{"the kernel's way to say return", "p:vfs_read%return", "%return", "r:vfs_read"},
		{"an offset from nothing", "p:+4", "+4", "empty"},
		{"an offset that is no number", "p:vfs_read+x", "x", "no offset"},
		{"an offset backwards", "p:vfs_read-4", "-4", "from the function's start on"},
		{"a return from an offset", "r:vfs_read+4", "+4", "whole function"},
		{"an offset of a pattern", "p:vfs_*+4", "+4", "pattern"},
		{"an open bracket", "p:vfs_[rw", "[rw", "not closed"},
		{"an address that is none", "p:0xzz", "0xzz", "no address"},
		{"an address that is too long", "p:0x11111111111111111", "0x11111111111111111", "no address"},
		{"a quote that is not closed", `p:"vfs_read`, `"vfs_read`, "never closed"},
		{"a user probe", "p:/bin/bash:readline", "/bin/bash:readline", "module"},
		{"an argument before the function", "p:%di vfs_read", "%di vfs_read", "function's name"},
		{"an alias that is too long", "p:" + strings.Repeat("n", 64) + " vfs_read", strings.Repeat("n", 64) + " vfs_read", "63"},
		{"an alias that is a file's name", "p:enable vfs_read", "enable vfs_read", "tracefs"},
		{"an unknown type", "p:vfs_read %di:u33", "u33", `no type "u33"`},
		{"an unknown variable", "p:vfs_read $foo", "$foo", "no $foo"},
		{"an offset in a file", "p:vfs_read @+8", "@+8", "user probes"},
		{"an open parenthesis", "p:vfs_read +0(%di", "", "not closed"},
		{"a string of a register", "p:vfs_read a=$arg2:string", "string", "+0(…)"},
		{"a type of a path", "p:f a->b:u9", "u9", `no type "u9"`},
		{"a path without a type", "p:f a->b:", "", "type follows"},
		{"a character that is in no path", "p:f a->b;c", ";c", "without"},
		{"a parenthesis too many", "p:f x=a)", ")", "closes nothing"},
		{"a parenthesis that is not closed", "p:f x=(a", "", "not closed"},
		{"all of a type", "p:f $args:u8", "$args:u8", "one by one"},
		{"a parameter at the return", "r:f a->b", "a->b", "gone"},
		{"what is returned at the entry", "p:f $retval->b", "$retval->b", "return probe"},
		{"a parameter behind the entry", "p:f+4 a->b", "a->b", "first instruction"},
		{"a name twice", "p:f a=%di a=%si", "a=%si", "already"},
		{"a name that is none", "p:f 1a=%di", "1a=%di", "identifiers"},
		{"a comment", "p:f#", "#", "character"},
		{"too many", "p:f" + strings.Repeat(" %di", 128) + " x=%si", "x=%si", "128"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, err := Parse(test.text)
			var e *ftrace.SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %+v, %v; want a SyntaxError", d, err)
			}
			if e.Text != test.text || e.Text[e.Pos:] != test.at || !strings.Contains(e.Message, test.message) {
				t.Errorf("%v\nwant %q with the caret at %q", err, test.message, test.at)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, test := range perfTools {
		f.Add(test.text)
	}
	for _, text := range []string{
		"p:vfs_[rw]* $args", `p:"a"+0x1 x=((struct y *)z)->a[1]:b1@0/8`, "r:m:f $retval->x:string", "p:f @a-8:symbol[2]", "p:a b c", "p:0xffffffff81000000 %di",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, function := range []bool{false, true} {
			d, err := parse(text, function)
			var e *ftrace.SyntaxError
			if err != nil {
				if !errors.As(err, &e) || e.Pos < 0 || e.Pos > len(text) || e.Text != text {
					t.Errorf("%#v", err)
				}
				_ = err.Error()
				continue
			}
			if (d.Symbol == "") == (d.Address == 0) || d.Text != text || d.Kind != Entry && d.Kind != Return {
				t.Errorf("%q gives %+v", text, d)
			}
			for _, a := range d.Args {
				if (a.Path == "") == (a.Fetch.Fetch == "") || a.Pos <= 0 || a.Pos >= len(text) {
					t.Errorf("%q has argument %+v", text, a)
				}
			}
		}
	})
}
