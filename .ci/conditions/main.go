// Conditions takes each condition of package forward out, one at a time, and asks whether the walk of
// small families notices (TestSmallFamiliesWalkedWhole), and if not, whether another test of the package
// does:
//
//	go run ./.ci/conditions
//
// A condition is a case of a switch, the condition of an if, or one side of an && or ||. It exits with 1
// where no test notices one, or where one does not compile, as on a tree that is edited meanwhile. No
// file is changed.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// files have the rules and what they conclude from.
var files = strings.Fields(
	"calls.go evidence.go foreground.go relation.go rules.go spared.go successor.go")

// mutant is a file without one of its conditions.
type mutant struct {
	at   token.Position
	text string // the condition
	file []byte
	by   string // what notices it
}

const (
	walk    = "the walk"
	tests   = "a test"
	nothing = "NOTHING"
	invalid = "does not compile"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	all, err := mutants()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "conditions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tickets := make(chan struct{}, 2)
	var group sync.WaitGroup
	for i := range all {
		group.Go(func() {
			tickets <- struct{}{}
			defer func() { <-tickets }()
			m := &all[i]
			if m.by = m.noticed(filepath.Join(dir, fmt.Sprint(i))); m.by != walk {
				fmt.Printf("%s:%d: %s: %s\n", filepath.Base(m.at.Filename), m.at.Line, m.by, m.text)
			}
		})
	}
	group.Wait()
	count := make(map[string]int)
	for _, m := range all {
		count[m.by]++
	}
	fmt.Printf("%d conditions: the walk notices %d, only another test %d, none %d\n", len(all)-count[invalid],
		count[walk], count[tests], count[nothing])
	if count[nothing]+count[invalid] > 0 {
		return fmt.Errorf("%d conditions are noticed by nothing, and %d do not compile", count[nothing],
			count[invalid])
	}
	return nil
}

// mutants are the files without one condition each.
func mutants() (all []mutant, err error) {
	for _, name := range files {
		file := filepath.Join("forward", name)
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, source, 0)
		if err != nil {
			return nil, err
		}
		without := func(cond ast.Expr, constant string) {
			from, to := set.Position(cond.Pos()), set.Position(cond.End())
			text := string(source[from.Offset:to.Offset])
			changed := string(source[:from.Offset]) + "(" + constant + "(" + text + "))" +
				string(source[to.Offset:])
			all = append(all, mutant{at: from, text: text, file: []byte(changed)})
		}
		eachCondition(tree, without)
	}
	return all, nil
}

// eachCondition calls a function with each condition, and with what makes it constant before it.
func eachCondition(tree *ast.File, without func(cond ast.Expr, constant string)) {
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			without(n.Cond, "false && ")
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				for _, cond := range clause.(*ast.CaseClause).List {
					if n.Tag == nil {
						without(cond, "false && ")
					}
				}
			}
		case *ast.BinaryExpr:
			constant := map[token.Token]string{token.LAND: "true || ", token.LOR: "false && "}[n.Op]
			if constant != "" {
				without(n.X, constant)
				without(n.Y, constant)
			}
		}
		return true
	})
}

// noticed builds the package's tests with the mutant in a folder of its own, and runs them.
func (m mutant) noticed(dir string) (by string) {
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	binary := filepath.Join(dir, "tests")
	original, err := filepath.Abs(m.at.Filename)
	replace, err2 := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil || err2 != nil || os.Mkdir(dir, 0o700) != nil ||
		os.WriteFile(changed, m.file, 0o600) != nil || os.WriteFile(overlay, replace, 0o600) != nil {
		return invalid
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./forward")
	if build.Run() != nil {
		return invalid
	}
	fails := func(how ...string) bool {
		run := exec.Command(binary, append(how, "-test.failfast", "-test.timeout", "4m")...)
		run.Dir = filepath.Dir(original) // as go test does, for testdata
		return run.Run() != nil
	}
	switch {
	case fails("-test.run", "SmallFamilies"):
		return walk
	case fails("-test.skip", "SmallFamilies"):
		return tests
	}
	return nothing
}
