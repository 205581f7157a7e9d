package top

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/live"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func machine(name, zone string, s explain.State) live.Row {
	return live.Row{
		ID: name, Owner: "set", Subject: explain.Subject{API: "machine.openshift.io", Kind: "Machine", Namespace: "blue", Name: name},
		State: s, Zone: zone, Phase: "Running", Reason: "Because" + name, Created: now.Add(-time.Hour),
	}
}

func screen(rows ...live.Row) model {
	m := model{cluster: "test", now: now, width: 100, height: 20, describe: func(_ context.Context, s explain.Subject) string { return "about " + s.Name + "\nline" }}
	set := live.Row{ID: "set", Subject: explain.Subject{Kind: "MachineSet", Namespace: "blue", Name: "mill"}, State: explain.Healthy, Counts: &live.Counts{Wanted: 3, Available: 2}}
	return m.apply(live.Change{At: now, Whole: true, Rows: append(rows, set)})
}

// press sends keys to the model, and runs the commands that Update returns.
func press(t *testing.T, m model, keys ...string) model {
	t.Helper()
	special := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "up": tea.KeyUp, "down": tea.KeyDown, "pgdown": tea.KeyPgDown}
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		if code, ok := special[k]; ok {
			msg = tea.KeyPressMsg{Code: code}
		}
		next, cmd := m.Update(msg)
		m = next.(model)
		if cmd != nil {
			if answer, ok := cmd().(pageMsg); ok {
				next, _ = m.Update(answer)
				m = next.(model)
			}
		}
	}
	return m
}

// TestKeys checks the screen after sequences of keys.
func TestKeys(t *testing.T) {
	rows := []live.Row{machine("mill-a", "b", explain.Healthy), machine("mill-b", "c", explain.Failed), machine("mill-c", "c", explain.Stuck)}
	for _, c := range []struct {
		keys      string
		has, lack []string
	}{
		{"", []string{"3 Machines by state", "1 Failed, 1 Stuck, 1 Healthy", "mill-a"}, []string{"MachineSet", "2/3"}},
		{"tab", []string{"1 MachineSets", "2/3"}, []string{"mill-a"}},
		{"s", []string{"by name"}, nil},
		{"/ z o n e : c enter", []string{"2 Machines", "mill-b", "mill-c", "filter: zone:c"}, []string{"mill-a"}},
		{"/ z o n e : c enter esc", []string{"3 Machines"}, nil},
		{"/ s t a t e : f a i l e d enter", []string{"1 Machines", "mill-b"}, []string{"mill-c"}},
		{"/ s e t : m i l l enter", []string{"3 Machines"}, nil},
		{"/ x backspace m i l l - c enter", []string{"1 Machines"}, []string{"mill-b "}},
		{"/ n o t h i n g enter enter", []string{"0 Machines"}, []string{"about"}},
		{"enter", []string{"about mill-b", "esc: back"}, []string{"3 Machines"}},
		{"down enter", []string{"about mill-c"}, nil},
		{"G enter", []string{"about mill-a"}, nil},
		{"G g enter esc", []string{"3 Machines"}, []string{"about"}},
		{"?", []string{"first, last"}, []string{"mill-a"}},
		{"? ?", []string{"3 Machines"}, nil},
	} {
		t.Run(c.keys, func(t *testing.T) {
			got := press(t, screen(rows...), strings.Fields(c.keys)...).screen()
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("the screen lacks %q:\n%s", want, got)
				}
			}
			for _, bad := range c.lack {
				if strings.Contains(got, bad) {
					t.Errorf("the screen has %q:\n%s", bad, got)
				}
			}
		})
	}
}

// TestTheCursorStaysOnItsMachine: the cursor stays on its machine when other machines appear or disappear.
func TestTheCursorStaysOnItsMachine(t *testing.T) {
	m := press(t, screen(machine("mill-a", "", explain.Healthy), machine("mill-b", "", explain.Healthy)), "down")
	m = m.apply(live.Change{At: now, Rows: []live.Row{machine("mill-0", "", explain.Failed)}, Removed: []string{"mill-a"}})
	if r, _ := m.selected(); r.Name != "mill-b" {
		t.Errorf("the cursor is on %q, want mill-b", r.Name)
	}
}

// TestHostileTextStaysText: control characters in the texts of objects do not reach the terminal, and no line is
// wider than the screen.
func TestHostileTextStaysText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := machine("mill-a", "", explain.Failed)
		r.Name, r.Reason, r.Node, r.Zone = rapid.String().Draw(t, "name"), rapid.String().Draw(t, "reason"), "\x1b]0;title\a", "\u202e\u009b2J"
		m := screen(r)
		m.width = rapid.IntRange(20, 200).Draw(t, "width")
		m.gaps = []string{r.Reason}
		m.page = nil
		shown := m.screen()
		m.page = &page{subject: r.Subject, lines: lines(r.Reason + "\x1b[2J")}
		for _, text := range []string{shown, m.screen()} {
			for _, own := range []string{"0", "1", "7", "31", "33", "34", "35", "36"} {
				text = strings.ReplaceAll(text, "\x1b["+own+"m", "")
			}
			if strings.ContainsAny(text, "\x1b\a\u009b\u202e") {
				t.Fatalf("a control character reaches the terminal: %q", text)
			}
			for _, line := range strings.Split(text, "\n") {
				if n := len([]rune(line)); n >= m.width+1 {
					t.Fatalf("a line has %d characters on a screen of %d: %q", n, m.width, line)
				}
			}
		}
	})
}

// BenchmarkTenThousand measures one change of a machine and the next screen, in a fleet of 10,000 machines.
func BenchmarkTenThousand(b *testing.B) {
	var rows []live.Row
	for i := range 10000 {
		rows = append(rows, machine(fmt.Sprintf("mill-%05d", i), "b", explain.Healthy))
	}
	m := screen(rows...)
	for i := 0; b.Loop(); i++ {
		m = m.apply(live.Change{At: now, Rows: []live.Row{machine("mill-00007", fmt.Sprint(i), explain.Failed)}})
		_ = m.screen()
	}
}
