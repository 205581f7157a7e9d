package top

import (
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
)

// keysHelp is the text that the key `?` shows.
const keysHelp = `
  Keys, as in k9s and less

  up, k  down, j         move                 g, G          first, last
  page up, page down     move by a screen     enter, d      show the object
  /                      filter: words, zone:b, state:failed, set:mill, ns:blue
  tab, shift+tab         machines, sets, deployments, health checks, all
  s                      sort: state, name, age, zone
  esc                    back, or clear the filter
  q, ctrl+c              quit
`

// key handles the key with this name. text is the text that the key adds to the filter.
func (m model) key(name, text string) (tea.Model, tea.Cmd) {
	switch {
	case name == "ctrl+c":
		return m, tea.Quit
	case m.typing:
		return m.edit(name, text).listed().bounded(), nil
	case m.help:
		m.help = false
		return m, nil
	case name == "q":
		return m, tea.Quit
	case name == "?":
		m.help = true
		return m, nil
	}
	if step, ok := m.steps()[name]; ok {
		return m.move(step).bounded(), nil
	}
	if m.page != nil {
		if name == "esc" || name == "left" || name == "h" {
			m.page = nil
		}
		return m, nil
	}
	return m.tableKey(name)
}

// steps returns, by the name of the key, the number of lines by which a key moves the cursor or the text of a page.
func (m model) steps() map[string]int {
	const all = 1 << 30
	screen := max(1, m.height-headerLines-1)
	return map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -screen, "pgdown": screen, "ctrl+b": -screen, "ctrl+f": screen,
		"g": -all, "home": -all, "G": all, "end": all,
	}
}

func (m model) move(by int) model {
	if m.page == nil {
		m.cursor += by
		return m
	}
	p := *m.page
	p.top += by
	m.page = &p
	return m
}

// tableKey handles a key while the table is visible.
func (m model) tableKey(name string) (tea.Model, tea.Cmd) {
	switch name {
	case "/":
		m.typing = true
	case "esc":
		m.filter = ""
	case "tab":
		m.kind, m.cursor = (m.kind+1)%len(kinds), 0
	case "shift+tab":
		m.kind, m.cursor = (m.kind+len(kinds)-1)%len(kinds), 0
	case "s":
		m.order = (m.order + 1) % len(orders)
	case "enter", "d", "right", "l":
		if r, ok := m.selected(); ok {
			m.page = &page{subject: r.Subject, lines: []string{"reading ..."}}
			return m, m.read()
		}
	}
	return m.listed().bounded(), nil
}

// edit handles a key while the user types the filter.
func (m model) edit(name, text string) model {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.filter)
		m.filter = m.filter[:len(m.filter)-size]
	default:
		m.filter += text
	}
	return m
}
