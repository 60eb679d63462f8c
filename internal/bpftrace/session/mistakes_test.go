package session

import (
	"os"
	"strings"
	"testing"
)

// Each program is wrong somewhere. What is said begins with the place, names the reason, and
// hints at what would work. Nothing is attached.
func TestMistakesAreExplained(t *testing.T) {
	for text, want := range map[string]string{
		`BEGIN { printf("hi\n" }`:                         `1:23-24: expected "," or ")", found "}"`,
		`BEGIN { printf('hi\n') }`:                        `1:16-22: one character belongs between these quotes | A string has double quotes: "…".`,
		`BEGIN { printf("hi\n); }`:                        `1:16-25: the quote is not closed`,
		`BEGIN printf("hi\n");`:                           `1:7-13: expected ",", a predicate or "{" after the probe, found "printf"`,
		`BEGIN { if (1) { print(1) } else { print(2) }`:   `1:7-8: this { has no }`,
		`BEGIN { print(1) } }`:                            `1:20-21: expected a probe such as kprobe:f, interval:s:1 or begin, found "}"`,
		`BEGIN { $x = 1 print($x) }`:                      `1:16-21: expected ";" before "print"`,
		`BEGIN { if (pid = 1) { } }`:                      `1:17-18: expected ")", found "=" | == compares, = assigns.`,
		`BEGIN /pid = 1/ { }`:                             `1:12-13: expected "/", found "=" | == compares, = assigns.`,
		`BEGIN /pid && { }`:                               `1:18-19: expected "/", found the end of the program`,
		`BEGIN /pid == 1 and tid == 2/ { }`:               `1:17-20: expected "/", found "and" | It is written && or ||.`,
		`BEGIN { for ($i = 0; $i < 3; $i++) { } }`:        `1:17-18: a loop has no start, condition and step here | for ($i : 0..10) { … } counts, while (…) { … } repeats.`,
		`BEGIN { for (i : 0..3) { } }`:                    `1:14-15: expected a variable: for ($kv : @map), found "i"`,
		`BEGIN { x = 5 }`:                                 `1:9-10: only variables and maps can be assigned to | Names of variables begin with $, those of maps with @.`,
		`BEGIN { print(1 +) }`:                            `1:18-19: expected an expression, found ")"`,
		`BEGIN { print(99999999999999999999) }`:           `1:15-35: 99999999999999999999: the number does not fit in 64 bits`,
		`BEGIN { let $x: int99 = 5; }`:                    `1:17-22: there is no type int99 | Did you mean int8?`,
		`begn { print(1) }`:                               `1:1-5: there is no probe type "begn" | Did you mean begin?`,
		`sotfware:faults:1 { }`:                           `1:1-9: there is no probe type "sotfware" | Did you mean software?`,
		`software:fautls:1 { }`:                           `1:1-18: there is no software event "fautls"`,
		`software:page-fautls:1 { }`:                      `1:1-23: there is no software event "page-fautls" | did you mean page-faults?`,
		`hardware:cylces:1 { }`:                           `1:1-18: there is no hardware event "cylces" | did you mean cycles?`,
		`tracepoint:sys_enter_open { }`:                   `1:1-26: tracepoint takes 2 words after it, not 1 | Write tracepoint:CATEGORY:EVENT.`,
		`uprobe:/bin/sh { }`:                              `1:1-15: uprobe takes 2 or 3 words after it, not 1 | Write uprobe:FILE:FUNCTION[+OFFSET].`,
		`profile:99 { }`:                                  `1:1-11: 99 is a number of nanoseconds: profile:hz:99 takes so many samples a second`,
		`profile:hertz:99 { }`:                            `1:1-17: a profile is profile:hz:RATE, profile:ms:NUMBER or profile:10ms`,
		`interval:s:0 { }`:                                `1:1-9: "0" is no number of an interval: it must be 1 or more | Write interval:s:1, interval:ms:100 or interval:1s.`,
		`BEGIN { printf("%d\n"); }`:                       `1:9-15: printf: Not enough arguments for format string (0 supplied, 1 expected)`,
		`BEGIN { printf("%d\n", "x"); }`:                  `1:9-15: printf: %d specifier expects a value of type integer (string supplied)`,
		`BEGIN { printf(pid) }`:                           `1:16-19: argument 1 of printf() is a literal string`,
		`BEGIN { print(pid, tid) }`:                       `1:9-14: print() takes one value, or a map, top and div | print((a, b)) prints several values, printf() formats them`,
		`BEGIN { @ = cuont() }`:                           `1:13-18: no function is named cuont | did you mean count?`,
		`BEGIN { pirntf("x") }`:                           `1:9-15: no function is named pirntf | did you mean printf?`,
		`BEGIN { retrun; }`:                               `1:9-15: nothing is named retrun | did you mean return?`,
		`BEGIN { print(commm) }`:                          `1:15-20: nothing is named commm | did you mean comm?`,
		`BEGIN { $count = 1; print($cuont) }`:             `1:27-33: variable $cuont has no value here | did you mean $count?`,
		`BEGIN { $n = 1; } END { print($n) }`:             `1:31-33: variable $n has no value here | a variable ends with its probe, a map does not: @n`,
		`BEGIN { @total = 1; print(@totel) }`:             `1:27-33: no statement says what @totel holds | did you mean @total?`,
		`BEGIN { @x = @y }`:                               `1:14-16: no statement says what @y holds | assign @y a value somewhere`,
		`BEGIN { $x = 1; $x = "s"; }`:                     `1:17-19: $x holds int8, not string`,
		`BEGIN { @x = 1; @x[1] = 2; }`:                    `1:17-19: @x has no keys elsewhere`,
		`BEGIN { @[1,2] = 1; print(@[1]) }`:               `1:27-28: the key of @ is (int8,int8), not int8`,
		`BEGIN { @x = count(); @x = sum(1); }`:            `1:23-25: @x holds count(), not sum()`,
		`BEGIN { count(); }`:                              `1:9-14: count() has no value of its own | assign it to a map: @ = count(…)`,
		`BEGIN { @x = count(1); }`:                        `1:14-19: count() takes no argument, not 1`,
		`BEGIN { @ = lhist(1, 2); }`:                      `1:13-18: lhist() takes 4 arguments, not 2`,
		`BEGIN { @x = hist(comm) }`:                       `1:19-23: hist() takes an integer, not string`,
		`BEGIN { print(1 == "x") }`:                       `1:17-19: == cannot be used on int8 and string`,
		`BEGIN { print(1 / 0) }`:                          `1:17-18: division by 0`,
		`BEGIN { print((1,2).5) }`:                        `1:20-21: the tuple has elements 0 to 1, not 5`,
		`BEGIN { $x = (1, 2); print($x.a) }`:              `1:30-31: the elements of (int8,int8) have no names | its elements are .0, .1 and so on`,
		`BEGIN { $x = (struct nosuch *)0; print($x->a) }`: `1:42-44: struct nosuch is not known here | define it, or #include the header that does`,
		`struct request { int q; }; BEGIN { print(((struct request *)0)->rq_disk) }`: `1:63-65: struct request has no member rq_disk | today it is q->disk`,
		`BEGIN { clear(@nope[1]); }`:                         `1:15-20: argument 1 of clear() is a map`,
		`BEGIN { unroll(1000) { } }`:                         `1:16-20: unroll maximum value is 100`,
		`BEGIN { fail("got %d of %s", 3, "five") }`:          `1:9-13: got 3 of five`,
		`BEGIN { fail("got %s", comm) }`:                     `1:24-28: argument 1 of fail() is not a constant: the program does not run`,
		`BEGIN { fail("got %d") }`:                           `1:9-13: fail: Not enough arguments for format string (0 supplied, 1 expected)`,
		`BEGIN { $a = (a=1, b=2); $a = (c=1, b=2); }`:        `1:26-28: $a holds (a=int8,b=int8), not (c=int8,b=int8)`,
		`BEGIN { break; }`:                                   `1:9-14: break stands outside of a loop`,
		`BEGIN { print(nsecs(booot)) }`:                      `1:21-26: nsecs() takes a mode | modes are boot, monotonic, tai, sw_tai`,
		`BEGIN { ustack(foo) }`:                              `1:16-19: ustack() has no mode foo | modes are bpftrace, perf, raw, build_id`,
		`BEGIN { print(args.x) }`:                            `1:19-20: a probe of begin has no arguments with names`,
		`BEGIN { print(arg0) }`:                              `1:15-19: arg0 has no meaning in begin | it works with kprobe, uprobe, usdt, rawtracepoint, watchpoint, asyncwatchpoint`,
		`BEGIN { system("ls"); }`:                            `1:9-15: system() changes the host | use --unsafe`,
		`BEGIN { print(cgroupid("/nosuch")) }`:               `1:15-23: cgroupid(): there is no control group /nosuch`,
		`config = { max_strln = 5 } BEGIN { }`:               `1:12-21: no setting is named max_strln | did you mean max_strlen?`,
		`macro foo(x) { x } BEGIN { foo(1, 2) }`:             `1:28-31: macro foo takes 1 argument, not 2`,
		`uprobe:/bin/sh:main { print(reg("foo")) }`:          `1:29-32: this machine has no register foo | the names are the kernel's: ip, sp and so on`,
		`uprobe:/bin/nosuch:main { }`:                        `1:1-24: open /bin/nosuch: no such file or directory`,
		`watchpoint:0x10:3:w { }`:                            `1:1-20: a watchpoint is watchpoint:ADDRESS:LENGTH:MODE, with 1, 2, 4 or 8 bytes and the mode r, w, rw or x`,
		`iter:tasks { }`:                                     `1:1-11: there is no iterator tasks | These are there: task, task_file, task_vma.`,
		`iter:task:list { }`:                                 `1:1-15: only a BPF program can be pinned to a file | iter:task runs once, when the program starts.`,
		`iter:task { print(ctx); }`:                          `1:19-22: ctx has no value of its own here, but its members have | it has task`,
		`iter:task { print(ctx.fd); }`:                       `1:22-23: iter:task has no argument fd | it has task`,
		`BEGIN { print(ctx); }`:                              `1:15-18: ctx needs BPF, which ringtap does without`,
		"BEGIN { }\n\nEND {\n\tprint(1);\n\tprintt(2)\n}":    "5:2-8: no function is named printt | did you mean print or printf?",
		"BEGIN { prnt(1); $x = 5; foo() }\nEND { print($x) ": `2:17-18: expected ";" or "}", found the end of the program`,
	} {
		explains(t, text, want)
	}
}

func TestMistakesAboutTracepointsAreExplained(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: tracefs")
	}
	for text, want := range map[string]string{
		`tracepoint:sched:sched_swich { }`:                                    `1:1-29: No matches for tracepoint sched:sched_swich: this kernel has none of that name | did you mean sched:sched_switch?`,
		`tracepoint:shed:sched_switch { print(args.x) }`:                      `1:1-29: No matches for tracepoint shed:sched_switch: this kernel has none of that name | did you mean sched:sched_switch`,
		`rawtracepoint:nosuch:sched_switch { }`:                               `1:1-34: No matches for rawtracepoint nosuch:sched_switch: this kernel has no module nosuch`,
		`rawtracepoint:sched_swich { }`:                                       `1:1-26: No matches for rawtracepoint sched_swich: this kernel has none of that name | did you mean sched_switch?`,
		`tracepoint:sched:sched_switch { print(args.prevpid) }`:               `1:43-44: tracepoint:sched:sched_switch has no argument prevpid | did you mean prev_pid`,
		`tracepoint:sched:sched_switch { print(prev_pid) }`:                   `1:39-47: nothing is named prev_pid | it is an argument of this probe: args.prev_pid`,
		`tracepoint:sched:sched_switch { print(retval) }`:                     `1:39-45: retval has no meaning in tracepoint | a tracepoint has args.NAME: prev_comm, prev_pid`,
		`tracepoint:sched:sched_switch { print(arg0) }`:                       `1:39-43: arg0 has no meaning in tracepoint | a tracepoint has args.NAME: prev_comm, prev_pid`,
		`t:raw_syscalls:sys_exit { print(retval) }`:                           `1:33-39: retval has no meaning in tracepoint | this tracepoint has it as args.ret`,
		`t:sched:sched_switch, t:sched:sched_wakeup { print(args.prev_pid) }`: `1:56-57: tracepoint:sched:sched_wakeup has no argument prev_pid, but tracepoint:sched:sched_switch has`,
		`tracepoint:sched:sched_switch { print(curtask) }`:                    `1:39-46: the address of curtask is not known without BPF`,
	} {
		explains(t, text, want)
	}
}

// explains checks what is said about a program: PLACE: REASON, and behind a bar the hint.
func explains(t *testing.T, text, want string) {
	t.Helper()
	got := runText(t, t.Context(), Options{Text: text, DryRun: true})
	if got.code != failed || got.err != nil || got.stdout != "" {
		t.Errorf("%s: exit code %d, %v, %q\n%s", text, got.code, got.err, got.stdout, got.stderr)
		return
	}
	place, reason, _ := strings.Cut(want, ": ")
	reason, hint, hinted := strings.Cut(reason, " | ")
	lines := strings.Split(got.stderr, "\n")
	if !strings.HasPrefix(lines[0], "stdin:"+place+": ERROR: "+reason) || len(lines) < 3 || strings.Trim(lines[2], " \t") == "" ||
		strings.Trim(lines[2], " ~") != "" || hinted && (len(lines) < 4 || !strings.HasPrefix(lines[3], "HINT: "+hint)) || strings.Count(got.stderr, "ERROR: ") > 1 {
		t.Errorf("%s says\n%snot\n%s", text, got.stderr, want)
	}
}
