package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/scripts"
)

// shipped is a command that is a program in bpftrace's language.
type shipped struct{ scripts.Program }

// shippedCommands returns the commands of the programs that ringtap ships.
func shippedCommands() []command {
	var all []command
	for _, p := range scripts.All() {
		all = append(all, command{p.Name, nil, p.Summary, shipped{p}.run})
	}
	return all
}

// listShipped prints the names of the programs and what they do.
func listShipped(w io.Writer) error {
	var text strings.Builder
	for _, p := range scripts.All() {
		fmt.Fprintf(&text, "%-14s %s\n", p.Name, p.Summary)
	}
	_, err := io.WriteString(w, text.String())
	return ignoreClosedPipe(err)
}

// usage returns the help text: see package manual.
func (s shipped) usage() string {
	var text strings.Builder
	text.WriteString(strings.TrimSpace(s.Name+" [options] "+s.Usage) + "\n\n")
	text.WriteString(strings.ToUpper(s.Summary[:1]) + s.Summary[1:] + ".\n\n")
	for _, e := range s.Example {
		fmt.Fprintf(&text, "  ringtap %-28s  %s\n", e.Command, e.What)
	}
	for _, paragraph := range s.About {
		text.WriteString("\n" + paragraph + "\n")
	}
	fmt.Fprintf(&text, "\nThe command is a program in the language of 'ringtap run'. 'ringtap %s --print' prints it, to copy and change.\n", s.Name)
	return text.String()
}

// run runs the program.
func (s shipped) run(ctx context.Context, out *console, args []string) error {
	flags := newFlags(out, s.Name, s.usage())
	var r runFlags
	print := s.add(flags, &r)
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := s.make(flags, &r, *print); err != nil {
		return err
	}
	if *print {
		_, err := io.WriteString(out.stdout, r.Text)
		return ignoreClosedPipe(err)
	}
	if err := r.check(flags); err != nil {
		return err
	}
	r.File, r.Quiet, r.Bare = s.Name+".bt", true, true
	r.Duration = time.Duration(r.duration)
	return r.run(ctx, out, flags)
}

// make sets the text and the parameters in r from the command line. With print, arguments may be
// missing; the text is then the program's file as it is.
func (s shipped) make(flags *pflag.FlagSet, r *runFlags, print bool) error {
	least, most := s.Arguments()
	switch n := flags.NArg(); {
	case n > most:
		return usagef("unexpected argument %q: %s takes %s", flags.Arg(most), s.Name, counted(most))
	case n < least && (n > 0 || !print):
		return usagef("%s takes a %s", s.Name, strings.TrimSuffix(strings.Fields(s.Usage)[n], "..."))
	}
	for i, arg := range flags.Args() {
		name, isNumber := s.Number(i)
		if _, err := strconv.ParseUint(arg, 0, 63); isNumber && err != nil {
			return usagef("%s %q: want a whole number", name, arg)
		}
	}
	r.Named = map[string]string{}
	line := scripts.CommandLine{Args: flags.Args(), Options: map[string][]string{}, Library: libraryName}
	for _, o := range s.Options {
		switch flag := flags.Lookup(o.Name); {
		case !flag.Changed:
		case o.Kind == scripts.Texts:
			line.Options[o.Name], _ = flags.GetStringArray(o.Name) // add defined it so
		case o.Kind == scripts.Device:
			number, err := blockDevice(blockDevices, flag.Value.String())
			if err != nil {
				return fmt.Errorf("--%s: %w", o.Name, err)
			}
			r.Named[o.Name] = number
			line.Options[o.Name] = []string{number}
		default:
			if o.Kind == scripts.Number && !print {
				if err := checkNumber(&o, flag); err != nil {
					return err
				}
			}
			r.Named[o.Name] = flag.Value.String()
			line.Options[o.Name] = []string{flag.Value.String()}
		}
	}
	if print && flags.NArg() == 0 && (least > 0 || len(line.Options) == 0) {
		r.Text = s.Text
		return nil
	}
	var err error
	if r.Text, r.Params, err = s.For(line); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// libraryName returns "lib"+name if that is a library: bcc's tools leave the "lib" out. It returns
// any other name unchanged.
func libraryName(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	target, err := library.Find("lib"+name, library.Options{})
	if err != nil {
		return name
	}
	target.File.Close()
	return "lib" + name
}

func counted(arguments int) string {
	switch arguments {
	case 0:
		return "no arguments"
	case 1:
		return "one argument"
	}
	return fmt.Sprint(arguments, " arguments")
}

// add defines the program's own flags, and then the flags of all shipped programs, unless the
// program has its own. print points to the value of --print.
func (s shipped) add(flags *pflag.FlagSet, r *runFlags) (print *bool) {
	for _, o := range s.Options {
		switch o.Kind {
		case scripts.Flag:
			flags.BoolP(o.Name, o.Short, false, o.Help)
		case scripts.Number:
			flags.Int64P(o.Name, o.Short, number(o.Default), o.Help)
		case scripts.Text:
			flags.StringP(o.Name, o.Short, o.Default, o.Help)
		case scripts.Texts:
			flags.StringArrayP(o.Name, o.Short, nil, o.Help)
		case scripts.Device:
			flags.StringP(o.Name, o.Short, o.Default, "only requests of `DEVICE`: MAJOR,MINOR or a name, such as vda")
		}
	}
	manual.SetGroup(flags, whatGroup)
	if flags.Lookup("pid") == nil {
		addPIDs(flags, &r.pids, "")
		manual.SetGroup(flags, targetGroup)
	}
	letter := "d"
	if flags.ShorthandLookup(letter) != nil {
		letter = "" // the program's own -d is of another kind
	}
	addDurationAs(flags, &r.duration, letter, "; otherwise Ctrl-C ends the run")
	manual.SetGroup(flags, whenGroup)
	r.addOutput(flags, "", "", "")
	addVerbose(flags, &r.Verbose, "")
	manual.SetGroup(flags, outputGroup)
	print = flags.Bool("print", false, "print the program")
	manual.SetGroup(flags, controlGroup)
	return print
}

// number reads the default of an option.
func number(text string) (n int64) {
	_, _ = fmt.Sscan(text, &n) // a test reads every default
	return n
}
