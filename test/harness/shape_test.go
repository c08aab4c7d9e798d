package harness_test

import (
	"go/ast"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/source"
)

// A test is read beside others: a line has 110 columns at most, with a tab as four, and a function 60 lines.
func TestTestsAreOfTheHousesShape(t *testing.T) {
	for _, file := range source.Files(t, harness.Repo()) {
		if !file.IsTest {
			continue
		}
		for n, line := range strings.Split(file.Text, "\n") {
			if columns := len([]rune(strings.ReplaceAll(line, "\t", "    "))); columns > 110 {
				t.Errorf("%s:%d has %d columns", file.Name, n+1, columns)
			}
		}
		for _, d := range file.Tree.Decls {
			from, to := file.At(d.Pos()).Line, file.At(d.End()).Line
			if f, ok := d.(*ast.FuncDecl); ok && to-from >= 60 {
				t.Errorf("%s: %s has %d lines", file.Name, f.Name, to-from+1)
			}
		}
	}
}
