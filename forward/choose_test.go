package forward

import (
	"slices"
	"testing"

	"drainit/internal/proc"
)

// A tree is written as child:parent.
func tree(pairs ...[2]int) proc.Tree {
	var all []proc.Process
	for _, p := range pairs {
		all = append(all, proc.Process{ID: proc.ID{PID: p[0]}, PPID: p[1], State: 'S'})
	}
	return proc.NewTree(all)
}

func TestFirstOnEachWayDown(t *testing.T) {
	// 1 - 2 - 3 - 4
	//   |   \ 5 - 6
	//   \ 7
	family := tree([2]int{1, 0}, [2]int{2, 1}, [2]int{3, 2}, [2]int{4, 3}, [2]int{5, 2}, [2]int{6, 5}, [2]int{7, 1})
	tests := []struct {
		name    string
		tree    proc.Tree
		root    int
		catches []int
		want    []int
	}{
		{"root alone if it catches", family, 2, []int{2, 3, 4, 6}, []int{2}},
		{"nothing below one that catches", family, 2, []int{3, 4}, []int{3}},
		{"one on each way", family, 2, []int{3, 6}, []int{3, 6}},
		{"the lowest on a way if it is the first", family, 2, []int{4, 6}, []int{4, 6}},
		{"nobody beside root", family, 2, []int{1, 7}, nil},
		{"nobody", family, 2, nil, nil},
		{"no root", family, 99, []int{3}, nil},
		{"a ring ends", tree([2]int{2, 3}, [2]int{3, 2}), 2, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			catches := func(pid int) bool { return slices.Contains(tt.catches, pid) }
			var got []int
			for _, p := range FirstOnEachWayDown(tt.tree, tt.root, catches) {
				got = append(got, p.PID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
