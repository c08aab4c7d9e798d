package proc

import (
	"slices"
	"testing"
)

// A tree is written as child:parent.
func tree(pairs ...[2]int) *Snapshot {
	var all []Process
	for _, p := range pairs {
		all = append(all, Process{ID: ID{PID: p[0]}, PPID: p[1], State: 'S'})
	}
	return New(all)
}

func TestNearest(t *testing.T) {
	// 1 - 2 - 3 - 4
	//   |   \ 5 - 6
	//   \ 7
	family := tree([2]int{1, 0}, [2]int{2, 1}, [2]int{3, 2}, [2]int{4, 3}, [2]int{5, 2}, [2]int{6, 5}, [2]int{7, 1})
	tests := []struct {
		name    string
		tree    *Snapshot
		root    int
		handles []int
		want    []int
	}{
		{"root alone if it handles it", family, 2, []int{2, 3, 4, 6}, []int{2}},
		{"nothing below one that handles it", family, 2, []int{3, 4}, []int{3}},
		{"one on each way", family, 2, []int{3, 6}, []int{3, 6}},
		{"the lowest on a way if it is the first", family, 2, []int{4, 6}, []int{4, 6}},
		{"none beside root", family, 2, []int{1, 7}, nil},
		{"none", family, 2, nil, nil},
		{"no root", family, 99, []int{3}, nil},
		{"a ring ends", tree([2]int{2, 3}, [2]int{3, 2}), 2, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handles := func(p Process) bool { return slices.Contains(tt.handles, p.PID) }
			var got []int
			for _, p := range tt.tree.Nearest(tt.root, handles) {
				got = append(got, p.PID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
