// Package source reads the project's own code in Go, for tests of what holds for all of it.
package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// File is one of the product, or of its tests.
type File struct {
	Name, Dir string // below the project's folder
	IsTest    bool
	Text      string
	Tree      *ast.File
	set       *token.FileSet
}

// At is where in the file that is.
func (f File) At(pos token.Pos) token.Position { return f.set.Position(pos) }

// elsewhere are the folders with the programs that the tests run, with what others wrote, and with tools.
var elsewhere = regexp.MustCompile(`^(testdata|node_modules|\.\w.*)$`)

// Files are those below the project's folder.
func Files(t testing.TB, project string) (all []File) {
	t.Helper()
	err := filepath.WalkDir(project, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && elsewhere.MatchString(d.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		name, _ := filepath.Rel(project, path)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := File{Name: name, Dir: filepath.Dir(name), Text: string(text), set: token.NewFileSet(),
			IsTest: strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/")}
		f.Tree, err = parser.ParseFile(f.set, path, text, 0)
		all = append(all, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
