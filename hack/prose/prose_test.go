package main

import (
	"go/parser"
	"maps"
	"slices"
	"testing"
)

func TestRoom(t *testing.T) {
	for file, want := range map[string]string{
		"README.md": "README.md", "docs/faq.md": "docs/faq.md", "docs/runbooks/README.md": "docs/runbooks",
		"provider/provider.go": "provider", "internal/engine/drain/pod.go": "internal/engine", "main.go": ".",
	} {
		if got := room(file); got != want {
			t.Errorf("%s is in %q, want %q", file, got, want)
		}
	}
}

// TestRatchet: a room may not get worse, and what got better stays so.
func TestRatchet(t *testing.T) {
	allowed := map[string]int{"docs/faq.md": 3, "internal/engine": 2, "README.md": 1}
	counts := count([]alert{
		{path: "docs/faq.md"}, {path: "internal/engine/drain/pod.go"}, {path: "internal/engine/health/plan.go"}, {path: "internal/engine/a.go"}, {path: "docs/new.md"},
	})
	if got := exceeding(allowed, counts); !slices.Equal(got, []string{"docs/new.md", "internal/engine"}) {
		t.Errorf("worse are %q", got)
	}
	if got := lowered(allowed, counts); !maps.Equal(got, map[string]int{"docs/faq.md": 1, "internal/engine": 2}) {
		t.Errorf("lowered to %v", got)
	}
	if got, err := parse(format(allowed)); err != nil || !maps.Equal(got, allowed) {
		t.Errorf("read back as %v, %v", got, err)
	}
	if _, err := parse("docs/faq.md many"); err == nil {
		t.Error("a count that is not a number is accepted")
	}
}

func TestMessage(t *testing.T) {
	for source, want := range map[string]string{
		`"the instance was not created"`: "the instance was not created",
		"`two\nlines of it`":             "two lines of it",
		`"%d machines"`:                  "",
		`12`:                             "",
	} {
		expression, err := parser.ParseExpr(source)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := message(expression); ok != (want != "") || ok && got != want {
			t.Errorf("%s is %q, %v", source, got, ok)
		}
	}
}

// TestOrigin: an objection to a message names the Go file.
func TestOrigin(t *testing.T) {
	texts := literals{"/tmp/messages.txt": {{path: "a.go", line: 7}, {path: "b.go", line: 9}}}
	for _, tt := range []struct{ in, want alert }{
		{alert{path: "/tmp/messages.txt", line: 2, message: "m"}, alert{path: "b.go", line: 9, message: "m"}},
		{alert{path: "docs/faq.md", line: 2}, alert{path: "docs/faq.md", line: 2}},
	} {
		if got := texts.origin(tt.in); got != tt.want {
			t.Errorf("%+v stands at %+v, want %+v", tt.in, got, tt.want)
		}
	}
}
