package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
)

// wordsOf are the values of the settings that take one of a few words.
var wordsOf = map[string]string{
	"second-stop": "force ignore", "forward": "auto group worker none", "log-format": "auto json text", "log-level": "error warn info debug",
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
	page, err := template.New("").Funcs(template.FuncMap{"quoted": quoted.Replace}).ParseFiles("testdata/completion.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	type verb struct {
		Name  string
		Flags []helpEntry
	}
	options, entries := helpEntries()
	var verbs []verb
	for _, e := range entries {
		if e.Name == "" {
			verbs = append(verbs, verb{Name: e.Verb})
		}
	}
	for i, v := range verbs {
		verbs[i].Flags = slices.DeleteFunc(slices.Clone(entries), func(e helpEntry) bool { return e.Name == "" || e.Verb != "" && e.Verb != v.Name })
	}
	ofPlan := slices.DeleteFunc(slices.Clone(entries), func(e helpEntry) bool { return e.Name == "" || e.Verb != verbPlan })
	valued := slices.DeleteFunc(slices.Clone(options), func(e helpEntry) bool { return e.Arg == "" })
	for _, name := range []string{"drainit.bash", "_drainit", "drainit.fish"} {
		var b strings.Builder
		if err := page.ExecuteTemplate(&b, name, map[string]any{"Options": options, "Valued": valued, "Verbs": verbs, "OfPlan": ofPlan}); err != nil {
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
