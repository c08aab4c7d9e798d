package harness

// Of is how many of something a test makes: many in the whole of the tests, and otherwise the
// few that show the same.
func Of(many, few int) int {
	if chosen != all {
		return few
	}
	return many
}
