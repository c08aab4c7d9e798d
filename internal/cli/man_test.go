package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
)

var update = flag.Bool("update", false, "write docs/drainit.1 anew")

// inline is a macro within a line of the template, <Dv SIGTERM>: mdoc(7) wants each on a line of its own,
// with the punctuation behind it.
var inline = regexp.MustCompile(` ?<([A-Z][a-z][^<>]*)>([.,:;]?) ?`)

// The man page is made from the help, and from a text for each flag and verb in the template.
func TestManPage(t *testing.T) {
	o := defaults()
	options, verbs := helpEntries()
	values := map[string]any{
		"Grace": o.Config.Grace, "LogLevel": o.level, "Options": options, "Verbs": verbs,
		"VerbNames": inspect.Verbs,
	}
	page, unused := template.New("drainit.1.tmpl").Option("missingkey=error"), make(map[string]bool)
	text := func(key string) (string, error) {
		var b strings.Builder
		delete(unused, key)
		err := page.ExecuteTemplate(&b, key, values)
		return b.String(), err
	}
	if _, err := page.Funcs(template.FuncMap{"text": text}).
		ParseFiles("testdata/drainit.1.tmpl"); err != nil {
		t.Fatal(err)
	}
	for _, text := range page.Templates() {
		unused[text.Name()] = true
	}
	made, err := text(page.Name())
	if err != nil { // and nothing is written
		t.Fatalf("%v: a text of testdata/drainit.1.tmpl is missing, by the flag's name in the help", err)
	}
	if delete(unused, "list"); len(unused) > 0 {
		t.Errorf("testdata/drainit.1.tmpl has texts that the help does not: %v", unused)
	}
	lines := inline.ReplaceAllString(made, "\n.$1 $2\n")
	made = strings.TrimSpace(regexp.MustCompile(` *\n+`).ReplaceAllString(lines, "\n")) + "\n"
	wantFile(t, "../../docs/drainit.1", made, "TestManPage")
}

// helpEntry is a flag or a verb of the help, as the template of the page asks for it.
type helpEntry struct {
	Section, Verb    string // the verb that it belongs to, "" where none or each
	Short, Name, Arg string // of a flag; a verb alone has no name
	Text             string // of the help
}

// ofEachVerb is the flag that all verbs have.
const ofEachVerb = "pid"

// Key names the entry's text in the template.
func (e helpEntry) Key() string {
	if e.Name == "" {
		return e.Verb
	}
	return strings.TrimSpace(e.Verb + " --" + e.Name)
}

// spelled is the entry with whether it has an argument.
func (e helpEntry) spelled() string {
	return fmt.Sprintf("%s -%s --%s %v", e.Verb, e.Short, e.Name, e.Arg != "")
}

// Flag and Mdoc are the entry as the arguments of a macro, without and with its verb.
func (e helpEntry) Flag() string { e.Verb = ""; return e.Mdoc() }
func (e helpEntry) Mdoc() string {
	var words []string
	for _, part := range [][3]string{{"Cm ", e.Verb}, {"Fl ", e.Short, " ,"},
		{"Fl -", e.Name}, {"Ar ", e.Arg}} {
		if part[1] != "" {
			words = append(words, part[0]+part[1]+part[2])
		}
	}
	return strings.Join(words, " ")
}

// setting is the entry's, the zero one where it has no variable.
func (e helpEntry) setting() (s setting) {
	if at := slices.IndexFunc(settings, func(s setting) bool { return s.name == e.Name }); at >= 0 {
		s = settings[at]
	}
	return s
}

func (e helpEntry) Repeats() bool { return e.setting().repeat }
func (e helpEntry) Toggles() bool { return e.setting().toggle }
func (e helpEntry) Variable() string {
	if s := e.setting(); s.name != "" {
		return s.variable()
	}
	return ""
}

var (
	flagLine = regexp.MustCompile(`^  (?:-(\w), |    )--([a-z-]+)(?: ([A-Z:]+))?  +(.+)$`)
	// else its text is the next line
	verbLine = regexp.MustCompile(`^  ([a-z]+)((?: \[--[a-z-]+(?: [A-Z]+)?\])*)(?:  +(.+))?$`)
	verbFlag = regexp.MustCompile(`--([a-z-]+)(?: ([A-Z]+))?`)
)

// helpEntries are the flags, and the verbs with theirs, in the order of the help.
func helpEntries() (options, verbs []helpEntry) {
	_, list, _ := strings.Cut(help, usage)
	list, _, _ = strings.Cut(strings.TrimSpace(list), "\n\n")
	list = strings.ReplaceAll(list, "\n       [", " [") // a verb with many flags has two lines
	section := ""
	for line := range strings.SplitSeq(list, "\n") {
		if found := flagLine.FindStringSubmatch(line); found != nil {
			options = append(options, helpEntry{section, "", found[1], found[2], found[3], found[4]})
		} else if found := verbLine.FindStringSubmatch(line); found != nil {
			verbs = append(verbs, helpEntry{Verb: found[1], Text: found[3]})
			for _, flag := range verbFlag.FindAllStringSubmatch(found[2], -1) {
				verbs = append(verbs, helpEntry{Verb: found[1], Name: flag[1], Arg: flag[2]})
			}
		} else if !strings.HasPrefix(line, " ") {
			section = line
		}
	}
	return options, append(verbs, helpEntry{Name: ofEachVerb, Arg: "N"})
}

// The help has each flag and verb that drainit takes, and none else.
func TestHelp(t *testing.T) {
	taken := []string{helpEntry{Short: "h", Name: "help"}.spelled()} // pflag's own
	take := func(verb string) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			e := helpEntry{Verb: verb, Short: f.Shorthand, Name: f.Name}
			if f.NoOptDefVal == "" {
				e.Arg = "VALUE"
			}
			taken = append(taken, e.spelled())
		}
	}
	newFlags(new(options)).VisitAll(take(""))
	taken = append(taken, helpEntry{Verb: verbPlan}.spelled())
	ofPlan := newFlagSet("")
	addPlan(ofPlan)
	ofPlan.VisitAll(take(verbPlan))
	for _, verb := range inspect.Verbs {
		taken = append(taken, helpEntry{Verb: verb}.spelled())
		verbFlags(&inspect.Request{Verb: verb}).VisitAll(take(verb))
	}
	var listed []string
	for _, e := range slices.Concat(helpEntries()) {
		if e.Name != ofEachVerb {
			listed = append(listed, e.spelled())
			continue
		}
		for _, e.Verb = range inspect.Verbs {
			listed = append(listed, e.spelled())
		}
	}
	slices.Sort(taken)
	if slices.Sort(listed); !slices.Equal(listed, taken) {
		t.Errorf("the help has\n%q\nand drainit takes\n%q", listed, taken)
	}
	if strings.Count(help, usage) != 1 {
		t.Error("the usage is not in the help once")
	}
	lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
	if len(lines) > 40 || len(slices.MaxFunc(lines, func(a, b string) int { return len(a) - len(b) })) > 80 {
		t.Errorf("the help is more than a screen of 40 lines of 80 columns: %d lines\n%s", len(lines), help)
	}
}

// The table has each flag, and the paragraph below it the variable.
func TestPageOfFlags(t *testing.T) {
	page := must(os.ReadFile("../../docs/flags.md"))
	_, variables, _ := strings.Cut(string(page), "\nEach flag with a value has an environment variable")
	variables, _, _ = strings.Cut(variables, "\n\n")
	for _, s := range settings {
		if !strings.Contains(variables, "`"+s.variable()+"`") {
			t.Errorf("%s is not in the list of docs/flags.md", s.variable())
		}
	}
	options, _ := helpEntries()
	for _, e := range options {
		flag := "--" + e.Name
		if e.Short != "" {
			flag = "-" + e.Short + ", " + flag
		}
		row := regexp.MustCompile("(?m)^\\| (?:`[^|]*; )?`" + flag + "[ `].*$")
		in := row.FindString(string(page))
		if in == "" {
			t.Errorf("%s is not in the table of docs/flags.md", flag)
		}
	}
}

// wordsOf are the values of the settings that take one of a few words.
var wordsOf = map[string]string{
	"second-stop": "force ignore", "forward": "auto group worker none", "log-format": "auto json text",
	"log-level":   "error warn info debug",
	"stop-signal": "QUIT HUP USR1 USR2 WINCH", "parent-death-signal": "TERM INT KILL",
}

// Words are the values that the entry takes, "" where they are not words.
func (e helpEntry) Words() string { return wordsOf[e.Name] }

// The completions of the shells are made from the help.
func TestCompletion(t *testing.T) {
	for name, words := range wordsOf {
		for word := range strings.FieldsSeq(words) {
			if err := (helpEntry{Name: name}).setting().set(word); err != nil {
				t.Errorf("--%s %s: %v", name, word, err)
			}
		}
	}
	quoted := strings.NewReplacer("'", `'\''`, "FROM:", `FROM\:`)
	page := must(template.New("").Funcs(template.FuncMap{"quoted": quoted.Replace}).
		ParseFiles("testdata/completion.tmpl"))
	type verb struct {
		Name  string
		Flags []helpEntry
	}
	options, entries := helpEntries()
	var verbs []verb
	without := func(all []helpEntry, left func(helpEntry) bool) []helpEntry {
		return slices.DeleteFunc(slices.Clone(all), left)
	}
	for _, v := range entries {
		if v.Name == "" {
			flags := without(entries, func(e helpEntry) bool {
				return e.Name == "" ||
					e.Verb != "" && e.Verb != v.Verb
			})
			verbs = append(verbs, verb{v.Verb, flags})
		}
	}
	ofPlan := without(entries, func(e helpEntry) bool { return e.Name == "" || e.Verb != verbPlan })
	valued := without(options, func(e helpEntry) bool { return e.Arg == "" })
	for _, name := range []string{"drainit.bash", "_drainit", "drainit.fish"} {
		var b strings.Builder
		if err := page.ExecuteTemplate(&b, name, map[string]any{"Options": options, "Valued": valued,
			"Verbs": verbs, "OfPlan": ofPlan}); err != nil {
			t.Fatal(err)
		}
		wantFile(t, filepath.Join("../../docs/completion", name), b.String(), "TestCompletion")
	}
}

// wantFile compares a file with what a test made, or writes it anew.
func wantFile(t *testing.T, path, made, test string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(path); err != nil || string(is) != made {
		t.Errorf("%s is out of date (%v): go test ./internal/cli -run %s -update", path, err, test)
	}
}
