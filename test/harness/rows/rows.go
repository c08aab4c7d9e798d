// Package rows reads the tables of tests: files that a person reads and adds a row to.
package rows

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// AtStart is for files that are read before any test runs.
type AtStart struct{ testing.TB }

func (AtStart) Helper()                           {}
func (AtStart) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (AtStart) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

var tabs = regexp.MustCompile(`\t+`)

// Read returns the rows of a file, each of so many columns. Tabs part the columns. Those that a row lacks
// at its end are empty, as "-" is, and one in double quotes is a Go string. A line that is empty or
// begins with # is no row.
func Read(t testing.TB, file string, columns int) (all [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		row, given := make([]string, columns), tabs.Split(line, -1)
		if copy(row, given) < len(given) {
			t.Fatalf("%s has more than %d columns in %q", file, columns, line)
		}
		for i, column := range row {
			if unquoted, err := strconv.Unquote(column); err == nil && column[0] == '"' {
				row[i] = unquoted
			} else if column == "-" {
				row[i] = ""
			}
		}
		all = append(all, row)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no rows", file)
	}
	return all
}

// Compare compares what is made of each row with its last column: as a text, or of a truth whether the column
// is not empty.
func Compare(t testing.TB, file string, columns int, made func(row []string) any) {
	t.Helper()
	for _, row := range Read(t, file, columns) {
		got, want := made(row), row[columns-1]
		truth, isTruth := got.(bool)
		if isTruth && truth != (want != "") || !isTruth && fmt.Sprint(got) != want {
			t.Errorf("%q: %v", row, got)
		}
	}
}
