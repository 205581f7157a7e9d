package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestDraw: what is drawn is XML, and has the text with nothing lost.
func TestDraw(t *testing.T) {
	const output = "Machine <a> & \"b\" waits\n  - because of that\nNext: look\n"
	svg := string(draw("kubectl machine why machine/a", wrap(output)))
	decoder := xml.NewDecoder(strings.NewReader(svg))
	var texts []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, strings.ReplaceAll(string(data), "\u00a0", " "))
		}
	}
	if want := append([]string{"$ kubectl machine why machine/a"}, strings.Split(strings.TrimSpace(output), "\n")...); !slices.Equal(texts, want) {
		t.Errorf("drawn are %q, want %q", texts, want)
	}
}

func TestWrap(t *testing.T) {
	long := "  " + strings.Repeat("word ", 40) + "end"
	lines := wrap("short\n" + long)
	if lines[0] != "short" || len(lines) != 3 || !strings.HasPrefix(lines[2], "    word") {
		t.Errorf("wrapped to %q", lines)
	}
	for _, line := range lines {
		if len(line) > columns {
			t.Errorf("%d characters: %q", len(line), line)
		}
	}
	if got := strings.Fields(strings.Join(lines[1:], " ")); !slices.Equal(got, strings.Fields(long)) {
		t.Errorf("words were lost: %q", got)
	}
}

func TestClip(t *testing.T) {
	lines := clip("short\n" + strings.Repeat("é", columns+5) + "\n")
	if len(lines) != 2 || lines[0] != "short" || lines[1] != strings.Repeat("é", columns-1)+"…" {
		t.Errorf("clipped to %q", lines)
	}
}
