package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/live"
	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// headerLines is the number of lines above the first row.
const headerLines = 3

// order is an order in which the table can show its rows.
type order struct {
	name    string
	compare func(a, b live.Row) int
}

// ranks has the rank of each state. The worst state has rank 0.
var ranks = func() map[explain.State]int {
	out := map[explain.State]int{}
	for i, s := range explain.Severity() {
		out[s] = i
	}
	return out
}()

var orders = []order{
	{"state", func(a, b live.Row) int { return cmp.Or(ranks[a.State]-ranks[b.State], cmp.Compare(a.Kind, b.Kind)) }},
	{"name", func(a, b live.Row) int { return cmp.Compare(a.Name, b.Name) }},
	{"age", func(a, b live.Row) int { return b.Created.Compare(a.Created) }},
	{"zone", func(a, b live.Row) int { return cmp.Compare(a.Zone, b.Zone) }},
}

// listed returns the model with a new list: the rows of the selected kind that match the filter, sorted.
func (m model) listed() model {
	var out []live.Row
	for _, r := range m.rows {
		if kind := kinds[m.kind]; (kind == "" || r.Kind == kind) && matches(r, ownerOf(m.rows, r), m.filter) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b live.Row) int {
		return cmp.Or(orders[m.order].compare(a, b), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	m.list = out
	return m
}

// ownerOf returns the name of the deployment above the row's object. Without a deployment, it returns the name of the
// set, or "".
func ownerOf(rows map[string]live.Row, r live.Row) string {
	set := rows[r.Owner]
	if d, ok := rows[set.Owner]; ok {
		return d.Name
	}
	return set.Name
}

// matches reports whether the row matches every word of the filter, without regard to upper case. The word "zone:b"
// matches if the column zone is "b". Another word matches if a column contains it.
func matches(r live.Row, owner, filter string) bool {
	if filter == "" {
		return true
	}
	columns := map[string]string{
		"state": string(r.State), "zone": r.Zone, "type": r.Type, "provider": r.Provider, "phase": r.Phase,
		"ns": r.Namespace, "namespace": r.Namespace, "set": owner, "kind": r.Kind,
	}
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		key, value, pair := strings.Cut(word, ":")
		if column, ok := columns[key]; pair && ok {
			if strings.ToLower(column) != value {
				return false
			}
			continue
		}
		if !strings.Contains(strings.ToLower(strings.Join([]string{r.Name, r.Node, r.Zone, r.Type, r.Phase, string(r.State), r.Reason, r.Namespace, owner}, " ")), word) {
			return false
		}
	}
	return true
}

// View draws the screen.
func (m model) View() tea.View {
	v := tea.NewView(m.screen())
	v.AltScreen = true
	v.WindowTitle = "machines of " + clean(m.cluster)
	return v
}

func (m model) screen() string {
	switch {
	case m.help:
		return keysHelp
	case m.page != nil:
		return m.pageScreen()
	}
	rows := m.list
	out := []string{m.title(rows), m.notice(), bold(m.line(heads))}
	most := max(1, m.height-headerLines)
	first := max(0, min(m.cursor-most/2, len(rows)-most))
	for i := first; i < min(first+most, len(rows)); i++ {
		line := m.line(m.cells(rows[i]))
		if i == m.cursor {
			line = reverse(line)
		} else {
			line = colour(rows[i].State, line)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// title returns the first line, with the number of rows in each state.
func (m model) title(rows []live.Row) string {
	counts := map[explain.State]int{}
	for _, r := range rows {
		counts[r.State]++
	}
	var parts []string
	for _, s := range explain.Severity() {
		if counts[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[s], s))
		}
	}
	kind := cmp.Or(kinds[m.kind], "Object")
	text := fmt.Sprintf("%s  %d %ss by %s  %s  ? keys", clean(m.cluster), len(rows), kind, orders[m.order].name, strings.Join(parts, ", "))
	return m.fit(text)
}

// notice returns the second line: the filter while the user types it, otherwise the most important notice.
func (m model) notice() string {
	switch {
	case m.typing:
		return m.fit("/" + m.filter + "_")
	case m.lost:
		return colour(explain.Failed, m.fit("no connection; what is shown may be old"))
	case m.rows == nil:
		return m.fit("reading ...")
	case len(m.controllers) > 0:
		return colour(explain.Failed, m.fit(m.controllers[0].Sentence))
	case len(m.gaps) > 0:
		return colour(explain.Degraded, m.fit(fmt.Sprintf("%d facts could not be read: %s", len(m.gaps), m.gaps[0])))
	case m.filter != "":
		return m.fit("filter: " + m.filter + "  (esc clears it)")
	}
	return ""
}

var heads = []string{"STATE", "NAME", "SET", "ZONE", "TYPE", "PHASE", "NODE", "AGE", "REASON"}

func (m model) cells(r live.Row) []string {
	phase := r.Phase
	if c := r.Counts; c != nil {
		phase = fmt.Sprintf("%d/%d", c.Available, c.Wanted)
	}
	return []string{string(r.State), r.Name, ownerOf(m.rows, r), r.Zone, r.Type, phase, r.Node, age(m.now, r.Created), r.Reason}
}

// widths has the widths of the columns in characters. A narrow screen omits the last columns.
var widths = []int{12, 24, 14, 10, 10, 10, 20, 5, 20}

// line returns a row of the table that is at most as wide as the screen.
func (m model) line(cells []string) string {
	var b strings.Builder
	for i, cell := range cells {
		width := widths[i]
		if b.Len() > 0 && b.Len()+width > m.width && m.width > 0 {
			break
		}
		b.WriteString(terminal.Line(clean(cell), width))
		if n := width - len([]rune(terminal.Line(clean(cell), width))); n > 0 {
			b.WriteString(strings.Repeat(" ", n))
		}
	}
	return m.fit(b.String())
}

func (m model) fit(text string) string { return terminal.Line(clean(text), cmp.Or(m.width, 80)) }

func age(now, created time.Time) string {
	if created.IsZero() || now.Before(created) {
		return ""
	}
	return duration.HumanDuration(now.Sub(created))
}

// clean replaces the characters that control a terminal with spaces, because other users can write the texts of
// objects.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}
