package show

import (
	"strconv"
	"time"
)

// strftime appends a time in the format of strftime(3) in the C locale. %f is microseconds of the
// second. If subseconds is set, %k is nanoseconds and %l is milliseconds.
func strftime(b []byte, format string, t time.Time, subseconds bool) []byte {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b = append(b, format[i])
			continue
		}
		i++
		fill := byte(0)
		if c := format[i]; (c == '_' || c == '-' || c == '0') && i+1 < len(format) {
			fill = c
			i++
		}
		if c := format[i]; (c == 'E' || c == 'O') && i+1 < len(format) {
			i++
		}
		b = appendTime(b, format[i], fill, t, subseconds)
	}
	return b
}

// layout returns the Go layout of a conversion, or "" if it has none.
func layout(c byte) string {
	switch c {
	case 'a':
		return "Mon"
	case 'A':
		return "Monday"
	case 'b', 'h':
		return "Jan"
	case 'B':
		return "January"
	case 'p':
		return "PM"
	case 'P':
		return "pm"
	case 'z':
		return "-0700"
	case 'Z':
		return "MST"
	}
	return ""
}

// composed returns the format that a conversion abbreviates, or "".
func composed(c byte) string {
	switch c {
	case 'c':
		return "%a %b %e %H:%M:%S %Y"
	case 'D', 'x':
		return "%m/%d/%y"
	case 'F':
		return "%Y-%m-%d"
	case 'r':
		return "%I:%M:%S %p"
	case 'R':
		return "%H:%M"
	case 'T', 'X':
		return "%H:%M:%S"
	}
	return ""
}

// appendTime appends one conversion. fill is the flag before it: '_' for spaces, '-' for no
// padding, '0' for zeros, or 0 for none.
func appendTime(b []byte, c, fill byte, t time.Time, subseconds bool) []byte {
	if l := layout(c); l != "" {
		return t.AppendFormat(b, l)
	}
	if f := composed(c); f != "" {
		return strftime(b, f, t, subseconds)
	}
	switch c {
	case '%':
		return append(b, '%')
	case 'n':
		return append(b, '\n')
	case 't':
		return append(b, '\t')
	}
	n, width, with := timeNumber(c, t, subseconds)
	if with == 0 {
		return append(b, '%', c)
	}
	switch fill {
	case '_':
		with = ' '
	case '0':
		with = '0'
	case '-':
		width = 0
	}
	digits := strconv.Itoa(n)
	for range width - len(digits) {
		b = append(b, with)
	}
	return append(b, digits...)
}

// timeNumber returns the value of a numeric conversion, its width and its padding character. The
// latter is 0 if there is no such conversion.
func timeNumber(c byte, t time.Time, subseconds bool) (n, width int, with byte) {
	isoYear, isoWeek := t.ISOWeek()
	hour := (t.Hour()+11)%12 + 1
	switch c {
	case 'C':
		return t.Year() / 100, 2, '0'
	case 'd':
		return t.Day(), 2, '0'
	case 'e':
		return t.Day(), 2, ' '
	case 'f':
		return t.Nanosecond() / 1000, 6, '0'
	case 'g':
		return isoYear % 100, 2, '0'
	case 'G':
		return isoYear, 1, '0'
	case 'H':
		return t.Hour(), 2, '0'
	case 'I':
		return hour, 2, '0'
	case 'j':
		return t.YearDay(), 3, '0'
	case 'k':
		if subseconds {
			return t.Nanosecond(), 9, '0'
		}
		return t.Hour(), 2, ' '
	case 'l':
		if subseconds {
			return t.Nanosecond() / 1e6, 3, '0'
		}
		return hour, 2, ' '
	case 'm':
		return int(t.Month()), 2, '0'
	case 'M':
		return t.Minute(), 2, '0'
	case 's':
		return int(t.Unix()), 1, '0'
	case 'S':
		return t.Second(), 2, '0'
	case 'u':
		return (int(t.Weekday())+6)%7 + 1, 1, '0'
	case 'U':
		return (t.YearDay() + 6 - int(t.Weekday())) / 7, 2, '0'
	case 'V':
		return isoWeek, 2, '0'
	case 'w':
		return int(t.Weekday()), 1, '0'
	case 'W':
		return (t.YearDay() + 6 - (int(t.Weekday())+6)%7) / 7, 2, '0'
	case 'y':
		return t.Year() % 100, 2, '0'
	case 'Y':
		return t.Year(), 1, '0'
	}
	return 0, 0, 0
}
