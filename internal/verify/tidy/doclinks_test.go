package tidy

import "testing"

func TestDocLinks(t *testing.T) {
	files, err := Load(root(t))
	if err != nil {
		t.Fatal(err)
	}
	complain(t, DocLinks(files))
}

func TestDocLinksCatches(t *testing.T) {
	says := func(text string) string {
		return "package a\n\nimport \"sort\"\n\nvar _ = sort.Ints\n\n// Func is as " + text + " says.\nfunc Func() {}\n\ntype Thing struct{ Field int }\n\nfunc (Thing) Method() {}\n\ntype Wrapped struct{ Thing }\n"
	}
	check(t, DocLinks, []sourceCase{
		{"x/a.go", says("[Thing]"), 0, "a type"},
		{"x/a.go", says("[Func]"), 0, "a function"},
		{"x/a.go", says("[Thing].Field and [Thing.Method]"), 0, "a field, and a method"},
		{"x/a.go", says("[World]"), 1, "no such type"},
		{"x/a.go", says("[Thing].Doubt"), 1, "no such field"},
		{"x/a.go", says("[Thing.Doubt]"), 1, "no such method"},
		{"x/a.go", says("[Wrapped].Field"), 0, "it may be of the type that is embedded"},
		{"x/a.go", says("[sort.Ints]"), 0, "a package of somebody else"},
		{"x/a.go", says("[1] and [a b]"), 0, "no name"},
	})
}
