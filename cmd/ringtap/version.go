package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

const versionUsage = `version

Print the version, the commit and the Go version of this binary.

  ringtap version                 for a bug report
  ringtap --version               the same
  ringtap version | head -1       the version alone
`

// The version and the commit that the Makefile builds in.
var release, commit string

func version(_ context.Context, out *console, args []string) error {
	flags := newFlags(out, "version", versionUsage)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("version takes no arguments")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	text := fmt.Sprintf("ringtap %s\n", versionText())
	if built := cmp.Or(commitOf(info), commit); built != "" {
		text += "commit " + built + "\n"
	}
	text += fmt.Sprintf("%s %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	_, err := fmt.Fprint(out.stdout, text)
	return ignoreClosedPipe(err)
}

// versionText returns the version of this binary.
func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return cmp.Or(release, info.Main.Version, "unknown")
	}
	return cmp.Or(release, "unknown")
}

// commitOf returns the commit that a binary was built from, its time, and whether files had
// local changes. It returns "" if the build did not record the commit.
func commitOf(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit := settings["vcs.revision"]
	if commit == "" {
		return ""
	}
	if t := settings["vcs.time"]; t != "" {
		commit += " of " + t
	}
	if settings["vcs.modified"] == "true" {
		commit += ", with local changes"
	}
	return commit
}
