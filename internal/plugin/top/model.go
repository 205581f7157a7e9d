// Package top implements `kubectl machine top`: a live table of the fleet in a terminal, with a page for each object.
package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/live"
)

// model is the state of the screen. Its methods do not read clusters: bubbletea runs the commands that read.
type model struct {
	cluster string
	// now is the time for which the screen shows ages. describe reads the text about an object.
	now      time.Time
	describe func(context.Context, explain.Subject) string

	width, height int
	rows          map[string]live.Row
	gaps          []string
	controllers   []explain.Answer
	lost          bool

	kind   int // index of kinds
	order  int // index of orders
	filter string
	typing bool
	// list has the rows of the table, in order. cursor is an index of list.
	list   []live.Row
	cursor int
	// page is the open page. If page is nil, the screen shows the table.
	page *page
	help bool
}

// page has the text about one object. top is the index of the first visible line.
type page struct {
	subject explain.Subject
	lines   []string
	top     int
}

// Messages of the model.
type (
	changeMsg live.Change
	lostMsg   struct{}
	tickMsg   time.Time
	pageMsg   struct {
		subject explain.Subject
		text    string
	}
)

// kinds has the kinds of rows. The table shows one kind at a time; the last entry stands for all kinds.
var kinds = []string{"Machine", "MachineSet", "MachineDeployment", "MachineHealthCheck", ""}

// Init returns no command, because feed sends all messages.
func (m model) Init() tea.Cmd { return nil }

// Update handles a message.
func (m model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case changeMsg:
		return m.apply(live.Change(msg)), m.read()
	case lostMsg:
		m.lost = true
	case tickMsg:
		m.now = time.Time(msg)
	case pageMsg:
		if m.page != nil && m.page.subject == msg.subject {
			m.page = &page{msg.subject, lines(msg.text), m.page.top}
		}
	case tea.KeyPressMsg:
		return m.key(msg.String(), msg.Key().Text)
	}
	return m, nil
}

// apply applies a change of the fleet. The cursor stays on its row.
func (m model) apply(c live.Change) model {
	selected, _ := m.selected()
	rows := map[string]live.Row{}
	if !c.Whole {
		for id, r := range m.rows {
			rows[id] = r
		}
	}
	for _, r := range c.Rows {
		rows[r.ID] = r
	}
	for _, id := range c.Removed {
		delete(rows, id)
	}
	m.rows, m.gaps, m.controllers, m.now, m.lost = rows, c.Gaps, c.Controllers, c.At, false
	m = m.listed()
	for i, r := range m.list {
		if r.ID == selected.ID {
			m.cursor = i
		}
	}
	return m.bounded()
}

// read returns a command that reads the text of the open page, or nil if no page is open.
func (m model) read() tea.Cmd {
	if m.page == nil {
		return nil
	}
	s := m.page.subject
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return pageMsg{s, m.describe(ctx, s)}
	}
}

// selected returns the row under the cursor. The result is false if the table is empty.
func (m model) selected() (live.Row, bool) {
	if m.cursor < 0 || m.cursor >= len(m.list) {
		return live.Row{}, false
	}
	return m.list[m.cursor], true
}

// bounded returns the model with the cursor inside the table, and the top of the page inside its text.
func (m model) bounded() model {
	m.cursor = max(0, min(m.cursor, len(m.list)-1))
	if m.page != nil {
		p := *m.page
		p.top = max(0, min(p.top, len(p.lines)-1))
		m.page = &p
	}
	return m
}
