package harness_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"drainit/test/harness"
)

// elsewhere are the programs that the tests run, and those that others wrote.
var elsewhere = regexp.MustCompile(`(^|/)(testdata|node_modules)/`)

// A test is read beside others: a line has 110 columns at most, with a tab as four, and a function 60 lines.
func TestTestsAreOfTheHousesShape(t *testing.T) {
	harness.Must(t, filepath.WalkDir(harness.Repo(), func(file string, _ fs.DirEntry, err error) error {
		name, _ := filepath.Rel(harness.Repo(), file)
		in := func(dir string) bool { return strings.HasPrefix(name, dir+"/") }
		tests := strings.HasSuffix(name, "_test.go") || in("test") && strings.HasSuffix(name, ".go")
		if err != nil || !tests || elsewhere.MatchString(name) {
			return err
		}
		for n, line := range strings.Split(harness.TextOf(t, file), "\n") {
			if columns := len([]rune(strings.ReplaceAll(line, "\t", "    "))); columns > 110 {
				t.Errorf("%s:%d has %d columns", name, n+1, columns)
			}
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		harness.Must(t, err)
		for _, d := range tree.Decls {
			from, to := set.Position(d.Pos()).Line, set.Position(d.End()).Line
			if f, ok := d.(*ast.FuncDecl); ok && to-from >= 60 {
				t.Errorf("%s: %s has %d lines", name, f.Name, to-from+1)
			}
		}
		return nil
	}))
}
