package journal

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
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
// and the texts that it is made of.
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
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			levels, texts := spokenBy(f, dir)
			if len(texts) > 0 {
				rows = append(rows, "| "+strings.Join(levels, ", ")+" | "+when(f)+" | `"+strings.Join(texts, "`<br>`")+"` |\n")
			}
		}
	}
	return rows
}

// spokenBy are the levels at which a function writes, and the texts in it; none where it
// neither writes nor makes what is written.
func spokenBy(f *ast.FuncDecl, dir string) (levels, texts []string) {
	made := dir == "../logx" || returns(f.Type, "string") || returns(f.Type, "error") && dir != "../../supervisor"
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isKept(n) {
				return false
			}
			if level, ok := levelOf(n); ok && !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		case *ast.BasicLit:
			if text, ok := textOf(n); ok && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
		return true
	})
	if len(levels) == 0 && !made {
		return nil, nil
	}
	return levels, texts
}

// levelOf is the level of a call that writes a line: j.warn(…), or s.journal.Log.Warn(…).
func levelOf(call *ast.CallExpr) (level string, ok bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	level = strings.ToLower(method.Sel.Name)
	switch owner := method.X.(type) {
	case *ast.Ident:
		ok = owner.Name == "j"
	case *ast.SelectorExpr:
		ok = owner.Sel.Name == "Log" || owner.Sel.Name == "owner"
	default:
		ok = false
	}
	switch method.Sel.Name {
	case "NotStarted":
		return "error", true
	case "say", "answer":
		return "a verb", true
	}
	return level, ok && slices.Contains([]string{"debug", "info", "warn", "error"}, level)
}

// isKept reports whether a call asks for what has been said: its text is a key.
func isKept(call *ast.CallExpr) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && method.Sel.Name == "Once"
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

// when is the first sentence of a function's comment, or its name.
func when(f *ast.FuncDecl) string {
	doc := strings.Join(strings.Fields(f.Doc.Text()), " ")
	if doc == "" {
		return f.Name.Name
	}
	sentence, _, _ := strings.Cut(doc, ". ")
	sentence, _, _ = strings.Cut(sentence, "; ")
	sentence = strings.TrimPrefix(strings.TrimPrefix(sentence, f.Name.Name+" "), "is ")
	return strings.ReplaceAll(strings.TrimSuffix(sentence, "."), "|", `\|`)
}
