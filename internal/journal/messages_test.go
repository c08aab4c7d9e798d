package journal

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page of messages anew")

const (
	page = "../../docs/messages.md"
	head = `# Messages

For those who search for a line: the messages of the log, of the command line and of the verbs, as they stand in the code, with … for what changes. The lines of the log are in package journal, one function for each; what has no level is
an error, or a part of a line; "a verb" says a line of its own. [operations.md](operations.md#the-log) says what to do about a line. Made by: go test ./internal/journal -run TestPageOfMessages -update

| level | when | words |
|---|---|---|
`
)

// The page has every message of the code, and no other.
func TestPageOfMessages(t *testing.T) {
	var rows []string
	for _, dir := range []string{".", "../diag", "../term", "../logx", "../worker", "../spawn", "../cli", "../inspect", "../../supervisor"} {
		rows = append(rows, messagesIn(t, dir)...)
	}
	want := head + strings.Join(rows, "")
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != want {
		t.Errorf("%s is not what the code says (%v): go test ./internal/journal -run TestPageOfMessages -update", page, err)
	}
	if len(rows) < 60 {
		t.Errorf("%d messages: the code is not understood any longer", len(rows))
	}
}

// messagesIn are the rows of a package: a function that writes a line, or makes a warning,
// and the texts that it is made of. A case with a comment beside it has a row of its own.
func messagesIn(t *testing.T, dir string) (rows []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		beside := make(map[int]string) // comments by line
		for _, c := range file.Comments {
			beside[set.Position(c.Pos()).Line] = c.Text()
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			cases := make(map[ast.Node]string)
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CaseClause); ok && dir == "." && beside[set.Position(c.Colon).Line] != "" {
					cases[c] = beside[set.Position(c.Colon).Line]
				}
				return true
			})
			made := dir == "../logx" || returns(f.Type, "string") || returns(f.Type, "error") && dir != "../../supervisor"
			rows = append(rows, row(f, cases, made, when(f.Name.Name, f.Doc.Text()))...)
			for _, c := range slices.SortedFunc(maps.Keys(cases), func(a, b ast.Node) int { return int(a.Pos() - b.Pos()) }) {
				rows = append(rows, row(c, nil, false, when("", cases[c]))...)
			}
		}
	}
	return rows
}

// row is what a function or a case says, but for these cases in it; none where it neither
// writes nor makes what is written.
func row(of ast.Node, but map[ast.Node]string, made bool, when string) []string {
	var levels, texts []string
	ast.Inspect(of, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			return but[n] == ""
		case *ast.SelectorExpr:
			if level, ok := levelOf(n); ok && !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		case *ast.CallExpr:
			return !isKept(n)
		case *ast.BasicLit:
			if text, ok := textOf(n); ok && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return true
	})
	if len(texts) == 0 || len(levels) == 0 && !made {
		return nil
	}
	return []string{"| " + strings.Join(levels, ", ") + " | " + when + " | `" + strings.Join(texts, "`<br>`") + "` |\n"}
}

// levelOf is the level of a method that writes a line: j.Warn, or s.journal.Warn.
func levelOf(method *ast.SelectorExpr) (level string, ok bool) {
	level = strings.ToLower(method.Sel.Name)
	switch owner := method.X.(type) {
	case *ast.Ident:
		ok = owner.Name == "j"
	case *ast.SelectorExpr:
		ok = owner.Sel.Name == "journal"
	}
	switch method.Sel.Name {
	case "NotStarted":
		return "error", true
	case "say", "answer":
		return "a verb", true
	}
	return level, ok && slices.Contains([]string{"debug", "info", "warn", "error"}, level)
}

// isKept reports whether a call asks whether a thing has been said: its text is a key.
func isKept(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "first"
}

// returns reports whether a function returns a type, or a function that does.
func returns(f *ast.FuncType, name string) bool {
	if f.Results == nil {
		return false
	}
	return slices.ContainsFunc(f.Results.List, func(result *ast.Field) bool {
		if made, ok := result.Type.(*ast.FuncType); ok {
			return returns(made, name)
		}
		id, ok := result.Type.(*ast.Ident)
		return ok && id.Name == name
	})
}

var (
	verb = regexp.MustCompile(`%[+.\d]*[a-z]`)
	word = regexp.MustCompile(`[A-Za-z]{4,}`)
)

// textOf is a literal as it reads in a line; none where it is a key or a part of a word.
func textOf(lit *ast.BasicLit) (text string, ok bool) {
	if lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return "", false
	}
	text = strings.TrimSpace(verb.ReplaceAllString(text, "…"))
	if !strings.Contains(text, " ") || !word.MatchString(text) || strings.Contains(text, "\n") {
		return "", false
	}
	return strings.ReplaceAll(text, "|", `\|`), true
}

// when is the first sentence of a comment without the name in front, or that name.
func when(name, comment string) string {
	doc := strings.Join(strings.Fields(comment), " ")
	if doc == "" {
		return name
	}
	sentence, _, _ := strings.Cut(doc, ". ")
	sentence, _, _ = strings.Cut(sentence, "; ")
	sentence = strings.TrimPrefix(strings.TrimPrefix(sentence, name+" "), "is ")
	return strings.ReplaceAll(strings.TrimSuffix(sentence, "."), "|", `\|`)
}
