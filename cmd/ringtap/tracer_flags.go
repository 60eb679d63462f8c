package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
)

// tracerFlags are the flags that all tracers share, with the letters of
// perf-tools.
type tracerFlags struct {
	targetFlags
	duration secondsFlag
	show     bool // print the formats and trace nothing
	headers  bool
	force    bool
	live     bool
	times    bool
	maxRate  uint64
	maxHits  uint64
	verbose  bool
}

// add defines the flags.
func (t *tracerFlags) add(flags *pflag.FlagSet) {
	t.targetFlags.add(flags, "L")
	t.addCgroup(flags)
	addDuration(flags, &t.duration, " and print everything then")
	addLive(flags, &t.live)
	flags.Uint64VarP(&t.maxHits, "max-hits", "n", 0, "end after `N` hits (default: no limit)")
	flags.Uint64Var(&t.maxRate, "max-rate", 0, "end with exit code 1 at more than `N` hits a second (default: no limit)")
	manual.SetGroup(flags, whenGroup)
	flags.BoolVarP(&t.show, "view", "v", false, "print the format of the event's records and where the probe is, and trace nothing")
	addHeaders(flags, &t.headers)
	addTimestamp(flags, &t.times, ", before each line, in ISO 8601")
	addVerbose(flags, &t.verbose, "")
	manual.SetGroup(flags, outputGroup)
	addForce(flags, &t.force)
	manual.SetGroup(flags, controlGroup)
	_ = flags.MarkHidden("force") // cannot fail: the flag exists
}

// validate takes the command to run from the parsed flags and checks the flags
// before anything is opened. It returns the arguments before the command. A value
// that makes no sense is a *usage.Error.
func (t *tracerFlags) validate(flags *pflag.FlagSet) ([]string, error) {
	args, err := t.takeCommand(flags)
	if err == nil {
		err = t.check(flags)
	}
	if err == nil && t.duration > 0 && t.show {
		err = usagef("give only one of -d and -v: -v traces nothing")
	}
	return args, err
}

// seconds returns the duration for messages.
func (t *tracerFlags) seconds() string { return formatSeconds(time.Duration(t.duration)) }
