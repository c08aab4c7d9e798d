package forward

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The page of answers has the words of each reason, as they stand in the code. P is the process that they
// name.
func TestPageHasTheWordsOfEachReason(t *testing.T) {
	text, err := os.ReadFile("../docs/signals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, answers, _ := strings.Cut(string(text), "\n### The answers\n")
	answers, _, _ = strings.Cut(answers, "\n**The last call** ")
	found := 0
	for _, file := range []string{"rules.go", "relation.go"} {
		all, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(all, func(n ast.Node) bool {
			word, isText := n.(*ast.BasicLit)
			if _, isImport := n.(*ast.ImportSpec); isImport || !isText || word.Kind != token.STRING {
				return !isImport
			}
			words, _ := strconv.Unquote(word.Value)
			words = strings.ReplaceAll(words, "%s", "P")
			if words = strings.TrimSuffix(words, " for "); len(words) < 6 { // parts of words
				return true
			}
			found++
			if !strings.Contains(answers, words) {
				t.Errorf("%s: %q is not in the page", file, words)
			}
			return true
		})
	}
	if found < 30 {
		t.Errorf("%d reasons", found)
	}
}
