package cli

import (
	"go/ast"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/source"
)

// startRows are the cells of the rows of a table in docs/start.md.
func startRows(t *testing.T, section string) (all [][]string) {
	t.Helper()
	_, text, _ := strings.Cut(harness.TextOf(t, harness.Repo("docs", "start.md")), "\n## "+section+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	for _, line := range regexp.MustCompile(`(?m)^\| .*$`).FindAllString(text, -1) {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	if len(all) < 12 {
		t.Fatalf("%d rows in %s", len(all), section)
	}
	return all[1:]
}

// The platform's limit is the grace period and a tenth of that limit, 1 s at least and 5 s at most; the grace
// period is the worker's own limit and 5 s. Each number of the first page says that, for a job of 60 s where
// the platform's limit can be chosen.
func TestNumbersOfTheFirstPage(t *testing.T) {
	for _, row := range startRows(t, "What you run") {
		given := regexp.MustCompile(`\d+`).FindString(row[2])
		if row[3] != "65s" || given != "" && given != "60" {
			t.Errorf("not for a job of 60 s: %q", row)
		}
	}
	for _, row := range startRows(t, "Where it runs") {
		own, grace, limit := harness.Number(t, row[2]), harness.Number(t, row[3]), harness.Number(t, row[4])
		if own+5 != grace || 10*grace+min(max(limit, 10), 50) != 10*limit {
			t.Errorf("%d + 5 s, %d s and %d s: %q", own, grace, limit, row)
		}
		if written := regexp.MustCompile(`\d+`).FindString(row[1]); (own == 60) != (limit == 70) ||
			written != "" && written != strconv.Itoa(limit) {
			t.Errorf("not the number for a job of 60 s: %q", row)
		}
	}
	page := harness.TextOf(t, harness.Repo("docs", "start.md"))
	for number, times := range map[string]int{"DRAINIT_GRACE=65s": 2, "terminationGracePeriodSeconds: 70": 2,
		"TimeoutStopSec=70": 2} {
		if strings.Count(page, number) != times {
			t.Errorf("%s is not on the page %d times", number, times)
		}
	}
}

// Each row of the first page names a test, or says that it is not run.
func TestRowsOfTheFirstPageAreTested(t *testing.T) {
	var tests []string
	for _, file := range source.Files(t, harness.Repo()) {
		for _, d := range file.Tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && file.IsTest {
				tests = append(tests, "`"+f.Name.Name+"`")
			}
		}
	}
	for _, row := range append(startRows(t, "What you run"), startRows(t, "Where it runs")...) {
		if by := row[len(row)-1]; by != "not run here" && !slices.Contains(tests, by) {
			t.Errorf("no test: %q", row)
		}
	}
}

// No page and no file to copy has another arithmetic.
func TestArithmeticIsOne(t *testing.T) {
	other := regexp.MustCompile(`\+ 10( s)?\b|10 s (longer|more)|(?i)which-grace-period`)
	for _, files := range []string{"docs/*", "test/platform/*.*", "internal/cli/testdata/*.tmpl",
		"Dockerfile.example", "README.md"} {
		names, _ := filepath.Glob(harness.Repo(files))
		for _, name := range names {
			if filepath.Ext(name) == ".go" || filepath.Ext(name) == "" {
				continue
			}
			if is := other.FindString(harness.TextOf(t, name)); is != "" {
				t.Errorf("%s: %q", name, is)
			}
		}
	}
}

// Pages that are to be read in a minute or two have this many words, and all together.
func TestLengthOfThePages(t *testing.T) {
	words := func(text string) int { return len(strings.Fields(text)) }
	for page, most := range map[string]int{"start.md": 600, "ci.md": 600} {
		if n := words(harness.TextOf(t, harness.Repo("docs", page))); n > most {
			t.Errorf("%s has %d words", page, n)
		}
	}
	_, minutes, _ := strings.Cut(harness.TextOf(t, harness.Repo("docs", "signals.md")),
		"\n## In two minutes\n")
	minutes, _, _ = strings.Cut(minutes, "\n## ")
	if n := words(minutes); n > 500 || n < 100 {
		t.Errorf("two minutes have %d words", n)
	}
	all := 0
	pages, _ := filepath.Glob(harness.Repo("docs", "*.md"))
	for _, page := range pages {
		all += words(harness.TextOf(t, page))
	}
	if all > 28000 {
		t.Errorf("the pages have %d words", all)
	}
}
