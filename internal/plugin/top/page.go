package top

import (
	"fmt"
	"strings"

	"github.com/millwright-dev/millwright/internal/engine/explain"
)

func (m model) pageScreen() string {
	out := []string{bold(m.fit(m.page.subject.String() + "  (esc: back)")), ""}
	most := max(1, m.height-len(out))
	for i := m.page.top; i < min(m.page.top+most, len(m.page.lines)); i++ {
		out = append(out, m.fit(m.page.lines[i]))
	}
	return strings.Join(out, "\n")
}

// lines splits text into lines, and replaces the characters that control a terminal.
func lines(text string) []string {
	out := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range out {
		out[i] = clean(out[i])
	}
	return out
}

// codes has the ANSI colours of states. The theme of the user's terminal defines how an ANSI colour looks.
var codes = map[explain.State]string{
	explain.Failed: "31", explain.Stuck: "35", explain.Degraded: "33", explain.Waiting: "33", explain.Progressing: "34", explain.Deleting: "36",
}

func colour(s explain.State, text string) string {
	if codes[s] == "" {
		return text
	}
	return style(codes[s], text)
}

func bold(text string) string    { return style("1", text) }
func reverse(text string) string { return style("7", text) }

func style(code, text string) string { return fmt.Sprintf("\x1b[%sm%s\x1b[0m", code, text) }
