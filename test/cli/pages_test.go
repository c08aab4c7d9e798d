package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

// Links between the pages lead somewhere, to headings too, and the README stays short.
func TestPagesLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(harness.Repo("docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages: %q, %v", pages, err)
	}
	for _, beside := range []string{"README.md", ".ci/README.md", "test/README.md",
		"forward/testdata/limits.md", "test/workers/testdata/documents.md",
		"test/workers/testdata/late.md"} {
		pages = append(pages, harness.Repo(beside))
	}
	for _, page := range pages {
		for _, link := range regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`).
			FindAllStringSubmatch(regexp.MustCompile("`[^`\n]*`").
				ReplaceAllString(harness.TextOf(t, page), ""), -1) {
			to := page
			if link[1] != "" {
				to = filepath.Join(filepath.Dir(page), link[1])
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %v", page, err)
			} else if link[2] != "" && !slices.Contains(anchors(harness.TextOf(t, to)), link[2]) {
				t.Errorf("%s: %s has no heading %s", page, to, link[2])
			}
		}
	}
	readme := harness.TextOf(t, harness.Repo("README.md"))
	if lines, words := strings.Count(readme, "\n"), len(strings.Fields(readme)); lines > 110 || words > 1300 {
		t.Errorf("the README has %d lines and %d words", lines, words)
	}
}

// anchors are those of the headings of a page, as forges make them.
func anchors(page string) (all []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// The error that docs/messages.md shows is drainit's.
func TestErrorOfThePageIsDrainits(t *testing.T) {
	line := harness.RunToEnd(t, harness.Launch{Args: []string{"--grace", "25x", "--", "true"}}).Err
	said := strings.TrimSuffix(strings.TrimPrefix(line, "drainit: "), "\n")
	if page := harness.TextOf(t, harness.Repo("docs", "messages.md")); said == "" ||
		!strings.Contains(page, "`"+said+"`") {
		t.Errorf("not on the page: %q", said)
	}
}
