package cli

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
)

var update = flag.Bool("update", false, "write docs/drainit.1 anew")

// The man page is made from the help, and from a text for each flag and verb in the template.
func TestManPage(t *testing.T) {
	const path = "../../docs/drainit.1"
	made := manPage(t)
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := os.ReadFile(path); err != nil || string(page) != made {
		t.Errorf("docs/drainit.1 is out of date (%v): go test ./internal/cli -run TestManPage -update", err)
	}
}

// helpEntry is a flag or a verb of the help.
type helpEntry struct {
	section, verb    string // the verb that it belongs to, "" where none or each
	short, name, arg string // of a flag; a verb alone has no name
}

// ofEachVerb is the flag that all verbs have.
const ofEachVerb = "pid"

// key names the entry's text in the template.
func (e helpEntry) key() string {
	if e.name == "" {
		return e.verb
	}
	return strings.TrimSpace(e.verb + " --" + e.name)
}

// spelled is the entry with whether it has an argument.
func (e helpEntry) spelled() string {
	return fmt.Sprintf("%s -%s --%s %v", e.verb, e.short, e.name, e.arg != "")
}

// mdoc is the entry as the arguments of a macro.
func (e helpEntry) mdoc() string {
	var words []string
	for _, part := range [][2]string{{"Cm ", e.verb}, {"Fl ", e.short}, {"Fl -", e.name}, {"Ar ", e.arg}} {
		if part[1] != "" {
			words = append(words, part[0]+part[1])
		}
	}
	if e.short != "" {
		words[0] += " ,"
	}
	return strings.Join(words, " ")
}

var helpLine = regexp.MustCompile(`^  (?:-(\w), |    )?(--)?([a-z-]+)(?: ([A-Z:]+))?(?:  |$)`)

// helpEntries are the flags, and the verbs with theirs, in the order of the help.
func helpEntries() (options, verbs []helpEntry) {
	_, list, _ := strings.Cut(help, usage)
	list, _, _ = strings.Cut(strings.TrimSpace(list), "\n\n")
	section, verb := "", ""
	for line := range strings.SplitSeq(list, "\n") {
		if !strings.HasPrefix(line, " ") {
			section, verb = line, ""
			continue
		}
		found := helpLine.FindStringSubmatch(line)
		if found == nil {
			continue // more of the text
		}
		if found[2] == "" {
			verb, found[3] = found[3], ""
		}
		e := helpEntry{section, verb, found[1], found[3], found[4]}
		if e.name == ofEachVerb {
			e.verb = ""
		}
		if strings.HasPrefix(section, "Verbs") {
			verbs = append(verbs, e)
		} else {
			options = append(options, e)
		}
	}
	return options, verbs
}

// The help has each flag and verb that drainit takes, and none else.
func TestHelp(t *testing.T) {
	taken := []string{helpEntry{short: "h", name: "help"}.spelled()} // pflag's own
	take := func(verb string) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			e := helpEntry{verb: verb, short: f.Shorthand, name: f.Name}
			if f.NoOptDefVal == "" {
				e.arg = "VALUE"
			}
			taken = append(taken, e.spelled())
		}
	}
	newFlags(new(options)).VisitAll(take(""))
	for _, verb := range inspect.Verbs {
		taken = append(taken, helpEntry{verb: verb}.spelled())
		verbFlags(&inspect.Request{Verb: verb}).VisitAll(take(verb))
	}
	var listed []string
	for _, e := range slices.Concat(helpEntries()) {
		if e.name != ofEachVerb {
			listed = append(listed, e.spelled())
			continue
		}
		for _, e.verb = range inspect.Verbs {
			listed = append(listed, e.spelled())
		}
	}
	if slices.Sort(taken); !slices.Equal(slices.Sorted(slices.Values(listed)), taken) {
		t.Errorf("the help has\n%q\nand drainit takes\n%q", listed, taken)
	}
	if strings.Count(help, usage) != 1 {
		t.Error("the usage is not in the help once")
	}
	for line := range strings.Lines(help) {
		if len(line) > 92 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// The table has the flag, and the paragraph below it the variable.
func TestREADMENamesEveryFlagAndVariable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, variables, _ := strings.Cut(string(readme), "\nEach flag with a value has an environment variable")
	variables, _, _ = strings.Cut(variables, "\n\n")
	for _, s := range settings {
		flag := "--" + s.name
		if s.short != "" {
			flag = "-" + s.short + ", " + flag
		}
		if !regexp.MustCompile("(?m)^\\| `" + flag + "[ `]").Match(readme) {
			t.Errorf("%s is not in the README's table", flag)
		}
		if !strings.Contains(variables, "`"+s.variable()+"`") {
			t.Errorf("%s is not in the README's list", s.variable())
		}
	}
}

// manPage is the page, made anew.
func manPage(t *testing.T) string {
	t.Helper()
	o := defaults()
	values := map[string]string{"Grace": o.config.Grace.String(), "TerminationLog": o.config.TerminationLog, "LogLevel": o.level.String()}
	page := template.New("drainit.1.tmpl").Option("missingkey=error")
	options, verbs := helpEntries()
	list := func(entries []helpEntry) func() (string, error) {
		return func() (string, error) { return listOf(entries, page, values) }
	}
	_, err := page.Funcs(template.FuncMap{
		"options": list(options), "verbs": list(verbs),
		"synopsis": func() string { return synopsis(verbs) }, "environment": func() string { return environment(options) },
		"grace": func() string { // the other variables
			return ".It\n.Ev " + strings.Join(regexp.MustCompile(`OJS_[A-Z_]+`).FindAllString(help, -1), "\n.It\n.Ev ") + "\n"
		},
	}).ParseFiles("testdata/drainit.1.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range page.Templates() {
		has := func(e helpEntry) bool { return e.key() == text.Name() }
		if text != page && !slices.ContainsFunc(options, has) && !slices.ContainsFunc(verbs, has) {
			t.Errorf("testdata/drainit.1.tmpl has a text for %s, which the help does not have", text.Name())
		}
	}
	var b strings.Builder
	if err := page.Execute(&b, values); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// listOf has a list for each section of the help.
func listOf(entries []helpEntry, page *template.Template, values any) (string, error) {
	var b strings.Builder
	for i, e := range entries {
		if i == 0 || e.section != entries[i-1].section {
			if i > 0 {
				b.WriteString(".El\n")
			}
			if !strings.HasPrefix(e.section, "Verbs") {
				b.WriteString(".Ss " + e.section + "\n")
			}
			b.WriteString(".Bl -tag -width Ds\n")
		}
		b.WriteString(".It " + e.mdoc() + "\n")
		if err := page.ExecuteTemplate(&b, e.key(), values); err != nil {
			return "", err
		}
	}
	return b.String() + ".El\n", nil
}

// synopsis has a line for each verb.
func synopsis(verbs []helpEntry) string {
	var b strings.Builder
	for _, verb := range inspect.Verbs {
		fmt.Fprintf(&b, ".Nm\n.Cm %s", verb)
		for _, e := range verbs {
			if e.name != "" && cmp.Or(e.verb, verb) == verb {
				e.verb = ""
				b.WriteString("\n.Op " + e.mdoc())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// environment lists the variables in the order of their flags.
func environment(options []helpEntry) string {
	var b strings.Builder
	for _, e := range options {
		at := slices.IndexFunc(settings, func(s setting) bool { return s.name == e.name })
		if at < 0 {
			continue // has no variable
		}
		s := settings[at]
		fmt.Fprintf(&b, ".It Ev %s\n.Fl -%s", s.variable(), s.name)
		switch {
		case s.repeat:
			b.WriteString(" ;\ncommas separate several")
		case s.toggle:
			b.WriteString(" :\n1 or 0")
		case s.empty:
			b.WriteString(" ;\nan empty value turns it off")
		}
		b.WriteString("\n")
	}
	return b.String()
}
