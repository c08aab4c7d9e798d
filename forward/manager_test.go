package forward

import "slices"

// movesOf is what a member does about the signal, in a timeline. It exits after the last move.
func (t *timeline) movesOf(i int) []move {
	all := t.started(i, false)
	kids, first := all, slices.Clip(all[:min(1, len(all))])
	last := all[max(0, len(all)-1):]
	below := t.started(i, true)
	steps := func(then []int) []move {
		return []move{{send: first}, {await: first}, {pause: t.pause}, {send: then}, {await: then}}
	}
	switch t.family[i].does {
	case finishes:
		return []move{{pause: t.work, work: true}}
	case passesOn, waitingShell, polls, takesItLate:
		return []move{{send: kids}, {await: kids}}
	case groupRelay:
		return []move{{send: append(t.groupOf([]int{i}), kids...)}, {await: kids}}
	case passesLeaves:
		return []move{{send: kids}}
	case waitsOnly:
		return []move{{await: kids}}
	case trapShell, dashShell:
		return []move{{await: last}}
	case stepsOn:
		return t.oneAfterTheOther(kids)
	case stepsGroup:
		return steps(t.groupOf(first))
	case stepsTree, stepsUnseen:
		return steps(below)
	case tellsAndLeaves:
		return []move{{send: slices.Compact(append(first, below[max(0, len(below)-1):]...))}}
	case waitsForOutput:
		return []move{{send: kids}, {await: below}}
	case asksOtherwise:
		return []move{{ask: kids}, {await: kids}}
	case stepsWhenAsked:
		if t.family[i].signalled() { // it dies of that
			return nil
		}
		return steps(below)
	case adopts:
		return []move{{send: first}, {await: below}}
	case drainsItself:
		return []move{{send: kids}, {pause: t.work, work: true}}
	case stepsByName, steppingShell:
		return steps(below[max(0, len(below)-1):])
	}
	return nil
}

func (t *timeline) oneAfterTheOther(these []int) (moves []move) {
	for n := range these {
		moves = append(moves, move{send: these[n : n+1]}, move{await: these[n : n+1]}, move{pause: t.pause})
	}
	return slices.Clip(moves)
}

// started are those that a member has started, or all below it.
func (f family) started(of int, below bool) (these []int) {
	for i := of + 1; i < len(f); i++ {
		if f[i].started == of || below && slices.Contains(these, f[i].started) {
			these = append(these, i)
		}
	}
	return these
}

// groupOf are those of the process group that the first one leads.
func (f family) groupOf(leader []int) (these []int) {
	for i := range f {
		if len(leader) > 0 && f[i].group == leader[0] {
			these = append(these, i)
		}
	}
	return these
}
