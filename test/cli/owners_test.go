package cli

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/source"
)

// owned has what only some packages do, by the folders of these: calls as they are written, or what a text in
// the code begins with.
var owned = []struct {
	is *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`^(unix\.(Wait4|Waitid)|syscall\.Wait4)$`), "reaper"},
	{regexp.MustCompile(`^unix\.Pidfd`), "reaper"},
	// The three others signal drainit itself, the job that it is for a shell, and the drainit and the
	// commands of a rehearsal.
	{regexp.MustCompile(`^(unix|syscall)\.(Kill|Tgkill)$`),
		"reaper internal/term internal/spawn internal/rehearse"},
	{regexp.MustCompile(`^(os\.(Open|OpenFile|Read(File|Dir)|L?[Ss]tat|Readlink)|` +
		`unix\.(Open|Openat|Readlink|ReadDirent))$`),
		"internal/proc internal/spawn internal/term internal/ociruntime"},
	{regexp.MustCompile(`^/proc/`), "internal/proc internal/spawn"}, // spawn writes its own oom_score_adj
	{regexp.MustCompile(`^time\.(Now|Since|Until|Sleep|After)$`),
		"supervisor reaper internal/health internal/inspect internal/journal internal/logx " +
			"internal/ociruntime internal/proc internal/rehearse internal/sigqueue internal/term"},
}

// pure are the packages that tests walk whole: they do no I/O, and know of no other package but those named.
var pure = map[string]string{
	"forward":          "internal/proc internal/program internal/signals",
	"internal/diag":    "forward internal/proc internal/program internal/signals",
	"internal/machine": "",
	"internal/program": "internal/proc internal/signals",
}

// What docs/architecture.md says that a package owns is done in no other one, and what it must never do
// is not done there.
func TestEachPackageKeepsToItsOwn(t *testing.T) {
	found := make([]bool, len(owned))
	for _, file := range source.Files(t, harness.Repo()) {
		if file.IsTest {
			continue
		}
		if allowed, isPure := pure[file.Dir]; isPure {
			for _, i := range file.Tree.Imports {
				own, isOurs := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), "drainit/")
				if isOurs && !slices.Contains(strings.Fields(allowed), own) || own == "os" || own == "io" {
					t.Errorf("%v: %s imports %s", file.At(i.Pos()), file.Dir, own)
				}
			}
		}
		ast.Inspect(file.Tree, func(n ast.Node) bool {
			text := ""
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					text = x.Name + "." + n.Sel.Name
				}
			case *ast.BasicLit:
				text = strings.Trim(n.Value, "`\"")
			}
			for i, o := range owned {
				is := o.is.MatchString(text)
				found[i] = found[i] || is
				if is && !slices.Contains(strings.Fields(o.by), file.Dir) {
					t.Errorf("%v: %s belongs to %s", file.At(n.Pos()), text, o.by)
				}
			}
			return true
		})
	}
	for i, o := range owned {
		if !found[i] {
			t.Errorf("%v is nowhere: the row shows nothing", o.is)
		}
	}
}
