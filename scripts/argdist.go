package scripts

import (
	"fmt"
	"regexp"
	"strings"
)

// distribution is what argdist counts for one SPEC of its command line.
type distribution struct {
	number    int // of the spec, in the names of its maps
	histogram bool
	point     *point
	label     string
	values    values
	types     []string
	exprs     []string // as they are written
	condition string
	saved     []string // parameters that the return needs
	latency   bool
}

// parseDistribution reads PLACE(PARAMETERS):TYPE,...:VALUE,...:CONDITION#LABEL.
func parseDistribution(spec string, histogram bool, library func(string) string) (*distribution, error) {
	text, label, labeled := strings.Cut(spec, "#")
	if !labeled {
		label = spec
	}
	d := &distribution{histogram: histogram, label: label}
	place, rest := text, ""
	if i := strings.IndexByte(text, '('); i >= 0 {
		declared, after, ok := parenthesized(text[i:])
		if !ok || after != "" && after[0] != ':' {
			return nil, fmt.Errorf("%q: write the parameters in parentheses after the place, and then a colon", spec)
		}
		var err error
		if d.values.parameters, err = parseParameters(declared); err != nil {
			return nil, err
		}
		place, rest = text[:i], strings.TrimPrefix(after, ":")
	}
	var err error
	if d.point, err = parsePoint(strings.TrimSpace(place), library); err != nil {
		return nil, err
	}
	fields := strings.SplitN(rest, ":", 3)
	switch {
	case rest == "" && d.point.atReturn:
		d.types, d.exprs = []string{"int"}, []string{"$retval"}
	case rest == "" && histogram:
		return nil, fmt.Errorf("%q: a histogram is of a value: write :TYPE:VALUE after the parentheses", spec)
	case rest == "":
	case len(fields) < 2:
		return nil, fmt.Errorf("%q: write a value after its type: :TYPE:VALUE", spec)
	default:
		d.types, d.exprs = split(fields[0], ','), split(fields[1], ',')
	}
	if len(fields) == 3 {
		d.condition = fields[2]
	}
	if len(d.types) != len(d.exprs) {
		return nil, fmt.Errorf("%q: there are %d types for %d values", spec, len(d.types), len(d.exprs))
	}
	if histogram && len(d.exprs) != 1 {
		return nil, fmt.Errorf("%q: a histogram is of one value", spec)
	}
	return d, d.findSaved(spec)
}

var entryValue = regexp.MustCompile(`\$entry\(\s*(\w+)\s*\)`)

// findSaved finds what the return needs of the call.
func (d *distribution) findSaved(spec string) error {
	for _, expr := range append([]string{d.condition}, d.exprs...) {
		d.latency = d.latency || strings.Contains(expr, "$latency")
		for _, found := range entryValue.FindAllStringSubmatch(expr, -1) {
			known := false
			for _, p := range d.values.parameters {
				known = known || p.name == found[1]
			}
			if !known {
				return fmt.Errorf("%q: $entry(%s) is none of the parameters in parentheses", spec, found[1])
			}
			d.saved = append(d.saved, found[1])
		}
	}
	if (d.latency || len(d.saved) > 0) && !d.point.atReturn {
		return fmt.Errorf("%q: $latency and $entry() are known when a function returns: write r:LIBRARY:FUNCTION", spec)
	}
	return nil
}

// expr returns an expression in the language.
func (d *distribution) expr(text string) string {
	text = entryValue.ReplaceAllStringFunc(text, func(call string) string {
		return d.entryOf(entryValue.FindStringSubmatch(call)[1]) + "[tid]"
	})
	v := d.values
	v.more = func(name string) (string, bool) {
		switch name {
		case "$retval":
			return "retval", true
		case "$latency":
			return fmt.Sprintf("((uint64)(nsecs - @begun%d[tid]))", d.number), true
		case "$PID":
			return "pid", true
		case "$COMM":
			return "comm", true
		}
		return "", false
	}
	if d.point.atReturn {
		v.parameters = nil // they are in no register any more
	}
	if d.point.inLanguage {
		v.parameters = nil
		return words.ReplaceAllStringFunc(text, func(name string) string {
			if known, ok := v.more(name); ok {
				return known
			}
			return name
		})
	}
	return v.rewrite(text)
}

// entryOf is the map of a parameter's value.
func (d *distribution) entryOf(name string) string { return fmt.Sprintf("@entry_%s%d", name, d.number) }

// value returns a value of its type, and the conversion of printf for it.
func (d *distribution) value(i int) (expr, conversion string) {
	expr = d.expr(d.exprs[i])
	_, signed := integer(d.types[i])
	switch {
	case expr == "comm":
		return expr, "%s"
	case isText(d.types[i]):
		return "str(" + strings.TrimPrefix(expr, "(char*)") + ")", "%s"
	case signed:
		return cast(d.types[i], expr), "%ld"
	}
	return cast(d.types[i], expr), "%lu"
}

// counted is the map of what is counted.
func (d *distribution) counted() string { return fmt.Sprintf("@values%d", d.number) }

// clauses returns the clauses that count.
func (d *distribution) clauses() string {
	var out strings.Builder
	begun := fmt.Sprintf("@begun%d", d.number)
	calls := d.latency || len(d.saved) > 0
	if calls {
		fmt.Fprintf(&out, "%s\n{\n\t%s[tid] = nsecs;\n", d.point.entry, begun)
		for _, name := range d.saved {
			for i, p := range d.values.parameters {
				if p.name == name {
					fmt.Fprintf(&out, "\t%s[tid] = %s;\n", d.entryOf(name), cast(p.ctype, fmt.Sprintf("arg%d", i)))
				}
			}
		}
		out.WriteString("}\n\n")
	}
	var keys []string
	for i := range d.exprs {
		key, _ := d.value(i)
		keys = append(keys, key)
	}
	count := fmt.Sprintf("%s[%s] = count();", d.counted(), strings.Join(keys, ", "))
	switch {
	case d.histogram:
		count = fmt.Sprintf("%s = hist(%s);", d.counted(), keys[0])
	case len(keys) == 0:
		count = d.counted() + `["total calls"] = count();`
	}
	fmt.Fprintf(&out, "%s\n", d.point.At())
	switch {
	case calls:
		fmt.Fprintf(&out, "/has_key(%s, tid)/\n{\n", begun)
		if d.condition != "" {
			fmt.Fprintf(&out, "\tif (%s) {\n\t\t%s\n\t}\n", d.expr(d.condition), count)
		} else {
			fmt.Fprintf(&out, "\t%s\n", count)
		}
		fmt.Fprintf(&out, "\tdelete(%s, tid);\n", begun)
		for _, name := range d.saved {
			fmt.Fprintf(&out, "\tdelete(%s, tid);\n", d.entryOf(name))
		}
	case d.condition != "":
		fmt.Fprintf(&out, "/%s/\n{\n\t%s\n", d.expr(d.condition), count)
	default:
		fmt.Fprintf(&out, "{\n\t%s\n", count)
	}
	out.WriteString("}\n\n")
	return out.String()
}

// report returns the statements that show what was counted.
func (d *distribution) report() string {
	var out strings.Builder
	name := d.counted()
	if d.histogram {
		fmt.Fprintf(&out, "\tprintf(\"%%s\\n\", %s);\n\tprint(%s);\n", quoted(d.label), name)
	} else {
		var format, list []string
		for i := range d.exprs {
			_, conversion := d.value(i)
			shown := strings.ReplaceAll(quoted(d.exprs[i]), "%", "%%")
			if d.exprs[i] == "$retval" {
				shown = `"retval"`
			}
			format = append(format, shown[1:len(shown)-1]+" = "+conversion)
			part := "$row.0"
			if len(d.exprs) > 1 {
				part = fmt.Sprintf("$row.0.%d", i)
			}
			list = append(list, part)
		}
		if len(d.exprs) == 0 {
			format, list = []string{"%s"}, []string{"$row.0"}
		}
		fmt.Fprintf(&out, "\theader(%s);\n\t$skip%d = (int64)(top() > 0 ? len(%s) - top() : 0);\n", quoted(d.label), d.number, name)
		fmt.Fprintf(&out, "\tfor ($row : %s) {\n\t\tif ($skip%d <= 0) {\n\t\t\tprintf(\"\\t%%-10d %s\\n\", (int64)$row.1, %s);\n\t\t}\n\t\t$skip%[2]d--;\n\t}\n",
			name, d.number, strings.Join(format, ", "), strings.Join(list, ", "))
	}
	fmt.Fprintf(&out, "\tif (!cumulative()) {\n\t\tclear(%s);\n\t}\n", name)
	return out.String()
}
