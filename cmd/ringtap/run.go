package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/bpftrace/session"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

const runUsage = `run [options] {-e PROGRAM | FILE} [ARG...]

Run a program in bpftrace's language. FILE - is standard input. ARG... are the program's
$1, $2 and so on; after --, --NAME=VALUE is an option that the program names by getopt.

  ringtap run -e 'BEGIN { printf("hello\n"); exit(); }'      a program in the command line
  ringtap run count.bt 10                                    a file, with a parameter
  ringtap run --list                          the programs that ringtap ships
  ringtap run -e 'uprobe:./prog:ns::f { @[args.n] = count(); }'       arguments by name
  ringtap run -f json -o lines.json -e 'i:s:1 { @ = count(); print(@); }'

Programs print what bpftrace 0.17 prints. --dialect, or the setting dialect of a program's
config block, selects another form: current is that of bpftrace 0.26. ringtap refuses what
it can't do at its line, before it attaches anything. With -c and -p, probes see only that
process and what it starts.

A link to ringtap that is named bpftrace takes bpftrace's command line, so that scripts
that begin with #!/usr/bin/env bpftrace run as they are. It prints what bpftrace 0.26
prints, unless --dialect or the program says otherwise.
`

// runFlags are the options of run, which are bpftrace's.
type runFlags struct {
	session.Options
	program, format, output, buffer, command, dialect, mode, filter string
	debug                                                           []string
	list, programs, info, version                                   bool
	warnings                                                        int
	pids                                                            []string
	duration                                                        secondsFlag // only shipped programs have this flag
}

func (r *runFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&r.program, "program", "e", "", "run this `PROGRAM`")
	flags.BoolVarP(&r.list, "list-probes", "l", false, "list what can be probed: the attach points that match a pattern, with -v their fields")
	flags.BoolVar(&r.programs, "list", false, "list: the programs that ringtap ships, each of which is a command")
	flags.StringArrayVarP(&r.IncludeDirs, "include-dir", "I", nil, "look for #include files in `DIR`, too (may be repeated)")
	flags.StringArrayVar(&r.Includes, "include", nil, "read the header `FILE` before the program (may be repeated)")
	flags.StringVar(&r.filter, "probe-filter", "", "attach only the probes that the regular expression `REGEX` matches, and begin and end")
	flags.StringVar(&r.dialect, "dialect", "", "print and compute as this `DIALECT`: default, 0.17 or current")
	manual.SetValues(flags, "dialect", "default", "0.17", "current")
	flags.BoolVar(&r.Unsafe, "unsafe", false, "allow what changes the host: system(), signal() and the like")
	flags.BoolVar(&r.info, "info", false, "print what this kernel can do")
	manual.SetGroup(flags, whatGroup)
	addPIDs(flags, &r.pids, "")
	flags.StringVarP(&r.command, "cmd", "c", "", "run `COMMAND` while the program runs, and end with it")
	manual.SetGroup(flags, targetGroup)
	r.addOutput(flags, "o", "f", "B")
	flags.BoolVarP(&r.Quiet, "quiet", "q", false, "print only what the program prints")
	addVerbose(flags, &r.Verbose, "v")
	manual.SetGroup(flags, outputGroup)
	flags.BoolVar(&r.NoWarnings, "no-warnings", false, "print no warnings")
	flags.CountVarP(&r.warnings, "warnings", "k", "warn of reads that fail (without meaning here: they are always counted)")
	flags.BoolVar(&r.DryRun, "dry-run", false, "attach the probes and end")
	flags.StringArrayVarP(&r.debug, "debug", "d", nil, "show how the program is understood, and end (bpftrace's `STAGE` is taken and has no meaning)")
	flags.Lookup("debug").NoOptDefVal = "all"
	flags.BoolVarP(&r.version, "version", "V", false, "print the version")
	manual.SetGroup(flags, controlGroup)
	r.addIgnored(flags)
}

// addOutput defines the flags for where and how a program prints. The parameters are the
// flags' letters; "" means none.
func (r *runFlags) addOutput(flags *pflag.FlagSet, output, format, buffer string) {
	flags.StringVarP(&r.output, "output", output, "", "write to `FILE` what the program prints")
	flags.StringVarP(&r.format, "format", format, "text", "print `FORMAT`: text or json")
	manual.SetValues(flags, "format", "text", "json")
	flags.StringVarP(&r.buffer, "buffer", buffer, "line", "write when a `UNIT` is there: line, full or none")
	manual.SetValues(flags, "buffer", "line", "full", "none")
	flags.BoolVar(&r.Raw, "raw", false, "print control characters and line breaks in text of traced processes as they are")
}

// addIgnored declares bpftrace's options that the help does not list. Most have no effect here;
// check refuses aot, emit-elf and emit-llvm.
func (r *runFlags) addIgnored(flags *pflag.FlagSet) {
	for _, name := range []string{"btf", "usdt-file-activation", "verify-llvm-ir"} {
		flags.Bool(name, false, "")
		_ = flags.MarkHidden(name)
	}
	flags.BoolP("b", "b", false, "")
	_ = flags.MarkHidden("b")
	for _, name := range []string{"no-feature", "dwarf-pid", "debuginfo", "traceable-functions"} {
		flags.String(name, "", "")
		_ = flags.MarkHidden(name)
	}
	flags.StringVar(&r.mode, "mode", "", "")
	flags.BoolVar(&r.Test, "test", false, "")
	flags.BoolVar(&r.Bench, "bench", false, "")
	for _, name := range []string{"mode", "test", "bench"} {
		_ = flags.MarkHidden(name)
	}
	for _, name := range []string{"aot", "emit-elf", "emit-llvm"} {
		flags.String(name, "", "")
		_ = flags.MarkHidden(name)
	}
}

func runProgram(ctx context.Context, out *console, args []string) error {
	var r runFlags
	flags := newFlags(out, "run", runUsage)
	r.add(flags)
	if err := parse(flags, stagesJoined(args)); err != nil {
		return err
	}
	if r.version {
		_, err := fmt.Fprintf(out.stdout, "%s\n", runVersion(out.called))
		return ignoreClosedPipe(err)
	}
	if r.info {
		return printInfo(ctx, out)
	}
	if r.programs {
		return listShipped(out.stdout)
	}
	if r.list {
		if flags.NArg() > 1 {
			return usagef("unexpected argument %q: -l takes one pattern", flags.Arg(1))
		}
		return r.listProbes(out, flags)
	}
	if out.called == bpftrace {
		r.Otherwise = show.Current().Name
	}
	if err := r.check(flags); err != nil {
		return err
	}
	if err := r.read(flags); err != nil {
		return err
	}
	return r.run(ctx, out, flags)
}

// listProbes lists the attach points that a pattern matches, or those of the program of -e.
func (r *runFlags) listProbes(out *console, flags *pflag.FlagSet) error {
	if r.command == "" {
		if _, err := r.target(flags); err != nil {
			return err
		}
	}
	l := session.Lister{Out: out.stdout, Fields: r.Verbose, PIDs: r.View.PIDs, Log: out.stderr}
	if r.program != "" {
		return ignoreClosedPipe(l.ListProgram(r.program))
	}
	return ignoreClosedPipe(l.List(flags.Arg(0)))
}

// run runs the program r.Text.
func (r *runFlags) run(ctx context.Context, out *console, flags *pflag.FlagSet) error {
	command, err := r.target(flags)
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	stdout := out.stdout
	if r.output != "" {
		file, err := os.Create(r.output)
		if err != nil {
			return err
		}
		defer file.Close()
		stdout = file
	} else {
		var cancel context.CancelFunc
		ctx, cancel = out.endWithReader(ctx)
		defer cancel()
	}
	r.Stdout, r.Stderr, r.Logger = stdout, out.stderr, out.logger(r.Verbose)
	if _, ok := os.LookupEnv("__BPFTRACE_NOTIFY_PROBES_ATTACHED"); ok { // set by bpftrace's test runner
		r.Notify = out.stdout
	}
	out.recording.Store(true)
	removeStale()
	r.Near = true
	code, err := session.Run(ctx, r.Options)
	if err != nil {
		return ignoreClosedPipe(err)
	}
	if code != 0 {
		return launch.StatusError(code)
	}
	return launch.End(ctx, out.stderr, command)
}

// target finds the processes of -p, or starts the command of -c and returns it. Without -c the
// command is nil.
func (r *runFlags) target(flags *pflag.FlagSet) (*perfevent.Command, error) {
	if r.command != "" {
		command, err := launch.Start(strings.Fields(r.command))
		if err != nil {
			return nil, err
		}
		started := perfevent.Started(command)
		r.Target, r.Child = &started, command.PID()
		r.View.PIDs = []int{command.PID()}
		return command, nil
	}
	if len(r.pids) == 0 {
		return nil, nil
	}
	var named target.Target
	if err := named.Find(process.Host{}, r.pids); err != nil {
		return nil, err
	}
	watched := named.Watched()
	r.Target, r.View.PIDs = &watched, named.Roots
	return nil, nil
}

// stagesJoined joins -d and a stage after it into one argument. bpftrace takes a stage after -d
// since 0.21; before, -d had no value.
func stagesJoined(args []string) []string {
	stages := []string{"all", "ast", "types", "parse", "codegen", "codegen-opt", "dis", "libbpf", "verifier"}
	var joined []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return append(joined, args[i:]...)
		case (args[i] == "-d" || args[i] == "--debug") && i+1 < len(args) && slices.Contains(stages, args[i+1]):
			joined = append(joined, "--debug="+args[i+1])
			i++
		default:
			joined = append(joined, args[i])
		}
	}
	return joined
}

// check validates the flags and sets the session's options from them.
func (r *runFlags) check(flags *pflag.FlagSet) error {
	for _, name := range []string{"aot", "emit-elf", "emit-llvm"} {
		if flags.Changed(name) {
			return usagef("--%s is for BPF programs, which ringtap does not make: run the program itself", name)
		}
	}
	switch {
	case flags.Changed("pid") && flags.Changed("cmd"):
		return usagef("-p and -c: one of both")
	case r.format != "text" && r.format != "json":
		return usagef("Invalid output format %q: text or json", r.format)
	}
	r.JSON = r.format == "json"
	r.Test, r.Bench = r.Test || r.mode == "test", r.Bench || r.mode == "bench"
	r.Environ = os.Environ()
	r.Dump = len(r.debug) > 0
	var ok bool
	if r.Buffer, ok = map[string]show.Mode{"line": show.Lines, "full": show.Full, "none": show.None}[r.buffer]; !ok {
		return usagef("--buffer %q: line, full or none", r.buffer)
	}
	if r.filter != "" {
		var err error
		if r.ProbeFilter, err = regexp.Compile(r.filter); err != nil {
			return usagef("Invalid --probe-filter regex: %v", err)
		}
	}
	if r.dialect != "" {
		if _, ok := show.Find(r.dialect); !ok {
			return usagef("--dialect %q: default, 0.17 or current", r.dialect)
		}
		r.Dialect = r.dialect
	}
	return nil
}

// maxProgram bounds the text of a program, in bytes.
const maxProgram = 1 << 20

// read sets the program's text, its parameters and its named options from the command line.
func (r *runFlags) read(flags *pflag.FlagSet) error {
	rest := flags.Args()
	own := len(rest)
	r.Strict = true
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		own = dash
	}
	if !flags.Changed("program") {
		if own == 0 && len(rest) == 0 {
			return usagef("give a program: -e 'PROGRAM', or a file")
		}
		r.File = rest[0]
		text, err := readProgram(rest[0])
		if err != nil {
			return err
		}
		r.Text, rest, own = text, rest[1:], own-1
	} else {
		r.Text = r.program
	}
	for i, word := range rest {
		name, value, named := strings.Cut(word, "=")
		if i >= own && strings.HasPrefix(name, "--") && len(name) > 2 {
			if !named {
				value = ""
			}
			if r.Named == nil {
				r.Named = map[string]string{}
			}
			r.Named[name[2:]] = value
			continue
		}
		r.Params = append(r.Params, word)
	}
	return nil
}

// noProgramFile explains that there is no file called name, which the user may have meant as the
// program's text or as a program that ringtap ships.
func noProgramFile(name string, err error) error {
	shipped := strings.TrimSuffix(filepath.Base(name), ".bt")
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case strings.ContainsAny(name, "{}"):
		return fmt.Errorf("%w; if this is a program, put -e before it", err)
	case find(shipped) != nil:
		return fmt.Errorf("%w; ringtap ships a program of that name: ringtap %s", err, shipped)
	}
	return err
}

// readProgram reads a program from the file called name, or from standard input if it is "-".
func readProgram(name string) (string, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return "", noProgramFile(name, err)
		}
		defer file.Close()
	}
	text, err := io.ReadAll(io.LimitReader(file, maxProgram+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxProgram {
		return "", fmt.Errorf("%s is longer than a program may be: %d bytes", name, maxProgram)
	}
	return string(text), nil
}
