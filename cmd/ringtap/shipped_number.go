package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/scripts"
)

// checkNumber refuses a number with which the program would silently match nothing. The name of the
// value in the option's help says what the number is: PID, TID, CPU or PORT. An option whose help
// contains -PGID also takes a negative number, which means a process group, as in kill(2).
func checkNumber(o *scripts.Option, flag *pflag.Flag) error {
	text := flag.Value.String()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return usagef("--%s %q: %w", o.Name, text, err)
	}
	of, _ := pflag.UnquoteUsage(flag)
	switch {
	case n < 0 && (text == o.Default || strings.Contains(o.Help, "-PGID")):
		return nil
	case n < 0:
		return usagef("--%s %d: want a whole number that is not negative", o.Name, n)
	case of == "PID" || of == "TID":
		if n == 0 || n > math.MaxInt32 || errors.Is(unix.Kill(int(n), 0), unix.ESRCH) {
			return fmt.Errorf("--%s %d: no such process (it does not exist, or has ended)", o.Name, n)
		}
	case of == "CPU":
		if _, err := os.Stat(fmt.Sprintf("/sys/devices/system/cpu/cpu%d", n)); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("--%s %d: this host has no such processor", o.Name, n)
		}
	case of == "PORT" && n > math.MaxUint16:
		return usagef("--%s %d: ports end at %d", o.Name, n, math.MaxUint16)
	}
	return nil
}
