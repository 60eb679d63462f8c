package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/usertext"
	"github.com/ringtap/ringtap/internal/stack"
)

const uprobeUsage = `uprobe [options] {-l TARGET [PATTERN] | DEFINITION... [FILTER]} [-- COMMAND ARG...]

Trace a place in user code and print a line for each hit, as the kernel does.

  {p|r}:[NAME ]TARGET:{SYMBOL[+OFF]|0xOFFSET|FILE:LINE}[ ARGUMENTS]   DEFINITION
  u:TARGET:PROVIDER:NAME                                              DEFINITION of a USDT probe

p is the entry of a function and r its return. TARGET is a path, a command or a library
("libc"). SYMBOL may be a C++, Rust or (in quotes) Go name as the source has it, or a
pattern ('mem*'). ARGUMENTS are the kernel's fetch arguments, $arg1 and so on, and, where
there is debug information, names of parameters ($args for all), of local variables at
FILE:LINE, and their members (r->id, s.pos[1].x). FILTER is the kernel's event filter, over
the names of the arguments.

  ringtap uprobe p:bash:readline                            each call, in all processes
  ringtap uprobe 'r:bash:readline +0($retval):string'       what users type
  ringtap uprobe 'r:libc:fopen file=$retval' 'file == 0'    calls that fail
  ringtap uprobe -p 1182 -s p:libc:malloc                   with stacks, one process
  ringtap uprobe 'p:libc:malloc $arg1' p:libc:free          two functions in one run
  ringtap uprobe 'p:./prog:func name n'                     parameters by name
  ringtap uprobe 'p:./prog:handle r->id r->name'            members of a structure
  ringtap uprobe 'p:./prog:main.greet name tags.len'        a Go string, and a slice's length
  ringtap uprobe 'p:./prog:file.c:42 msec'                  a local variable at a line
  ringtap uprobe -l bash 'read*'                            what can be probed

ringtap moves a probe forward past instructions that change nothing visible if the kernel
would have to single-step there. The definition that it prints shows the place; --exact
turns this off. A function that was inlined is probed at every copy, and an indirect one (IFUNC,
such as libc's memcpy) at the code that programs call; a note says so.

With -s, functions of Python 3.6 to 3.15, PHP, Ruby and Perl have their names, as in probe: of
1,250 hits a second at most, and a note says of how many. Those of Java and Node.js always have.

The kernel fetches 4 KiB at a hit, and no text that is longer. ringtap reads such texts by a
helper while the thread stands still, up to 56 KiB at a hit, from the first one on (--text near:
with it). What is still cut ends in "..."; ~"TEXT" was read a moment after the hit.

Nothing stays behind. Probes without arguments disappear with the process. Probes with
arguments are tracefs events in a group of the process's own; ringtap removes them at
every end except kill -9, and the next run removes those.

Before Linux 6.12 the kernel itself loses some hits of a process's forked children with -p
and -- COMMAND. Without a target it loses none.
`

// uprobeFlags are the flags of uprobe alone.
type uprobeFlags struct {
	tracerFlags
	list         string
	demangle     bool
	user, kernel bool
	exact        bool
	limit        int
	text         string
}

func traceUprobe(ctx context.Context, out *console, args []string) error {
	var u uprobeFlags
	flags := newFlags(out, "uprobe", uprobeUsage)
	u.add(flags)
	flags.StringVarP(&u.list, "list", "l", "", "list what can be probed in `TARGET`: functions and USDT probes, those that match a pattern or all")
	flags.BoolVar(&u.demangle, "demangle", false, "with -l, show C++ and Rust names as the source has them")
	addStacks(flags, &u.user, ": the user stack")
	addKernel(flags, &u.kernel, " of each hit")
	addExact(flags, &u.exact)
	addLimit(flags, &u.limit, 1000)
	flags.StringVar(&u.text, "text", "auto", "read texts behind pointers from `SOURCE`: kernel, near (a helper reads what the kernel cuts), or auto")
	manual.SetValues(flags, "text", "auto", "kernel", "near")
	manual.SetGroup(flags, whatGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := u.validate(flags)
	if err != nil {
		return err
	}
	if !slices.Contains(usertext.Ways(), usertext.Way(u.text)) {
		return usagef("--text %s: auto, kernel or near", u.text)
	}
	if u.limit < 1 {
		return usagef("--limit %d: at least one place", u.limit)
	}
	if flags.Changed("list") {
		if len(rest) > 1 {
			return usagef("unexpected argument %q: -l takes a target and a pattern", rest[1])
		}
		names, notes, err := probe.UserFunctions(u.list, strings.Join(rest, ""), u.demangle, cmp.Or(append(u.Roots, u.TID)...), out.logger(u.verbose))
		return listNames(out, names, notes, err)
	}
	texts, filter, err := definitions(rest, "p:bash:readline")
	if err != nil {
		return err
	}
	return u.trace(ctx, out, texts, filter)
}

// trace opens the probes that the definitions describe and prints their hits.
func (u *uprobeFlags) trace(ctx context.Context, out *console, definitions []string, filter string) error {
	var specs []*probe.Spec
	for _, text := range definitions {
		spec, err := probe.ParseUser(text)
		if err != nil {
			return wrongSpec(err)
		}
		specs = append(specs, spec)
	}
	view, err := u.view()
	if err != nil {
		return err
	}
	target, command, err := u.open()
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	set, err := attach(out, specs, probe.Options{
		Target: target, View: view, Filter: filter, Limit: u.limit, Exact: u.exact,
		PMU: !u.show, Logger: out.logger(u.verbose), // perf's own events have no format file
	})
	if err != nil {
		return err
	}
	defer set.Release(out.stderr)
	if u.show {
		for _, line := range set.Placement {
			fmt.Fprintln(out.stderr, line)
		}
		return ignoreClosedPipe(set.WriteFormats(out.stdout))
	}
	about := set.Definition
	if len(specs) > 1 {
		about = "" // it has room for one definition
	}
	stacks := stack.Lines(u.user, u.kernel)
	stacks.Entry, stacks.Interpreted, stacks.Beyond = set.AtEntry, true, true
	texts, err := usertext.Attach(set.Sources, usertext.Options{Target: target, Way: usertext.Way(u.text), Logger: out.logger(u.verbose)})
	if err != nil {
		return err
	}
	defer texts.Close()
	err = printEvents(ctx, out, &u.tracerFlags, tracing{
		name: nameOf("uprobe", set), about: about,
		sources: set.Sources, seen: texts.Seen, stacks: stacks, target: target, command: command,
	})
	for _, note := range texts.Notes() {
		fmt.Fprintln(out.stderr, note)
	}
	return err
}

// nameOf returns the name of a set's probes in messages.
func nameOf(kind string, set *probe.Set) string {
	if len(set.Functions) == 1 {
		return kind + " " + set.Sources[0].Format.Name
	}
	return fmt.Sprintf("%d %ss", len(set.Functions), kind)
}
