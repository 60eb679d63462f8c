package scripts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CommandLine has the arguments and options that the user gave to a program.
type CommandLine struct {
	Args    []string
	Options map[string][]string // the options that the user set, by long name
	// Library returns the language's name of a library, such as libc, for bcc's name, such as c.
	Library func(name string) string
}

// For returns the program's text for a command line, and its parameters. Most texts are the same
// for every command line. If the command line names what to probe, For puts that into the text in
// place of the example in the program's file.
func (p *Program) For(c CommandLine) (text string, params []string, err error) {
	switch p.Name {
	case "profile":
		text, err = p.sampling(c.Options["frequency"])
		return text, c.Args, err
	case "stackcount", "funclatency":
		text, err = p.probing(c)
	case "trace":
		text, err = p.tracing(c)
	case "argdist":
		text, err = p.distributing(c)
	default:
		return p.Text, c.Args, nil
	}
	return text, nil, err
}

// sampling returns the text of the program profile, with the value of --frequency in place of its
// 49 samples a second. frequency is empty if the option is not set; the text then stays the same.
func (p *Program) sampling(frequency []string) (string, error) {
	if len(frequency) == 0 {
		return p.Text, nil
	}
	n, err := strconv.ParseUint(frequency[0], 10, 20)
	if err != nil || n == 0 {
		return "", fmt.Errorf("--frequency %s: want 1 or more, and less than a million", frequency[0])
	}
	return strings.ReplaceAll(p.Text, "profile:hz:49", fmt.Sprintf("profile:hz:%d", n)), nil
}

// probing returns the text of a program whose file probes c:malloc, with the place that the
// command line names instead.
func (p *Program) probing(c CommandLine) (string, error) {
	point, err := parsePoint(c.Args[0], c.Library)
	if err != nil {
		return "", err
	}
	calls := strings.Contains(p.Text, "\nuretprobe:libc:malloc\n")
	if calls && (point.Return == "" || point.atReturn) {
		return "", fmt.Errorf("%q is no function with a beginning and an end: %s times calls", c.Args[0], p.Name)
	}
	return strings.NewReplacer(
		"\nuprobe:libc:malloc\n", "\n"+point.At()+"\n",
		"\nuretprobe:libc:malloc\n", "\n"+point.Return+"\n",
		`"c:malloc"`, quoted(c.Args[0]),
	).Replace(p.Text), nil
}

// made is the start of a line in a program's file. From this line on, the text is replaced by
// clauses that are made from the command line.
const made = "// What follows is made from the command line"

// ahead returns the program's text before the line that starts with made.
func (p *Program) ahead() string {
	before, _, _ := strings.Cut(p.Text, made)
	return before
}

// tracing returns the text of the program trace, with a clause for each argument.
func (p *Program) tracing(c CommandLine) (string, error) {
	text := p.ahead()
	for i, spec := range c.Args {
		clause, err := traceClause(spec, c.Library)
		if err != nil {
			return "", err
		}
		if i > 0 {
			text += "\n"
		}
		text += clause
	}
	return text, nil
}

// distributing returns the text of the program argdist, with clauses for each -C and -H option.
func (p *Program) distributing(c CommandLine) (string, error) {
	var all []*distribution
	for _, option := range []string{"value-counts", "value-histograms"} {
		for _, spec := range c.Options[option] {
			d, err := parseDistribution(spec, option == "value-histograms", c.Library)
			if err != nil {
				return "", err
			}
			all = append(all, d)
			d.number = len(all)
		}
	}
	if len(all) == 0 {
		return "", errors.New("say what to count: -C SPEC or -H SPEC")
	}
	var clauses, report strings.Builder
	var names []string
	for _, d := range all {
		names = append(names, d.counted())
		clauses.WriteString(d.clauses())
		report.WriteString(d.report())
	}
	maps := strings.Join(names, ", ")
	return p.ahead() + clauses.String() + `macro report(` + maps + `)
{
	time("[%H:%M:%S]\n");
` + report.String() + `}

interval:s:1
{
	@seconds++;
	if ((uint64)@seconds % (uint64)every() == 0) {
		@reports++;
		report(` + maps + `);
		if (@reports == times()) {
			exit();
		}
	}
}

end
/times() == 0 || @reports < times()/
{
	report(` + maps + `);
}
`, nil
}
