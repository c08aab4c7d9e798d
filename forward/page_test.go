package forward

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"drainit/test/harness/rows"
	"drainit/test/harness/source"
)

// The page of answers has the words of each reason, as they stand in the code. P is the process that they
// name.
func TestPageHasTheWordsOfEachReason(t *testing.T) {
	text, err := os.ReadFile("../docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	_, answers, _ := strings.Cut(string(text), "\n### The answers\n")
	answers, _, _ = strings.Cut(answers, "\nWhat programs are known ")
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

// Each function whose comment says what would make its claim false is in testdata/claims.tsv. That and
// testdata/guesses.tsv name functions and tests that are there.
func TestClaimsNameWhatIsThere(t *testing.T) {
	functions, tests := make(map[string]bool), make(map[string]bool)
	var claims []string
	for _, file := range source.Files(t, "..") {
		for _, f := range function.FindAllStringSubmatch(file.Text, -1) {
			functions[f[2]] = functions[f[2]] || !file.IsTest
			tests[file.Dir+" "+f[2]] = file.IsTest
			if file.Dir == "forward" && strings.Contains(f[1], "Wrong if") {
				claims = append(claims, f[2])
			}
		}
	}
	named := func(row string) {
		for part := range strings.SplitSeq(row, "; ") {
			dir, names, _ := strings.Cut(part, " ")
			for name := range strings.FieldsSeq(names) {
				if name, _, _ = strings.Cut(name, "/"); !tests[dir+" "+name] {
					t.Errorf("%s has no %s", dir, name)
				}
			}
		}
	}
	for _, row := range rows.Read(t, "testdata/claims.tsv", 4) {
		claims = slices.DeleteFunc(claims, func(name string) bool { return name == row[0] })
		if named(row[3]); !functions[row[0]] {
			t.Errorf("no function %s", row[0])
		}
	}
	for _, row := range rows.Read(t, "testdata/guesses.tsv", 4) {
		named(row[3])
	}
	if len(claims) > 0 {
		t.Errorf("not in claims.tsv: %q", claims)
	}
}

// function is one of a file, with its comment.
var function = regexp.MustCompile(`(?m)((?:^//.*\n)*)^func (?:\([^)]*\) )?(\w+)`)

// Each reason of testdata/walks.txt has one row of reasons.tsv, which says whether drainit can know better.
func TestReasonsOfTheWalks(t *testing.T) {
	all := rows.Read(t, "testdata/reasons.tsv", 2)
	seen := make([]bool, len(all))
	for _, lines := range readPage(t) {
		for _, line := range lines[2:] {
			var fits []string
			for i, row := range all {
				if strings.Contains(line, row[0]) {
					fits, seen[i] = append(fits, row[0]), true
				}
			}
			if len(fits) != 1 {
				t.Errorf("%q has the rows %q", line, fits)
			}
		}
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Errorf("no walk has %q", all[i][0])
	}
}
