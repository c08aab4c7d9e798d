package trees_test

import (
	"reflect"
	"testing"

	"drainit/test/trees"
)

func TestNotation(t *testing.T) {
	const text = "npm_start*(sh10[TERM=7/2s,ignore](app tail) log) redis"
	want := []trees.Process{
		{Name: "npm start", Words: []string{"*"}, Below: []trees.Process{
			{Name: "sh10", Words: []string{"TERM=7/2s", "ignore"},
				Below: []trees.Process{{Name: "app"}, {Name: "tail"}}},
			{Name: "log"},
		}},
		{Name: "redis"},
	}
	if got := trees.Parse(text); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := trees.Text(want); got != text {
		t.Error(got)
	}
	if got := trees.Parse(""); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestNumbered(t *testing.T) {
	if name, number, ok := (trees.Process{Name: "npm start12"}).Numbered(); name != "npm start" ||
		number != 12 || !ok {
		t.Error(name, number, ok)
	}
	if name, _, ok := (trees.Process{Name: "app"}).Numbered(); name != "app" || ok {
		t.Error(name, ok)
	}
}

func TestWhatIsNoNotation(t *testing.T) {
	for _, text := range []string{"a(b", "a)", "a[TERM", "(a)", "a**"} {
		func() {
			defer func() { _ = recover() }()
			t.Errorf("%q is %+v", text, trees.Parse(text))
		}()
	}
}
